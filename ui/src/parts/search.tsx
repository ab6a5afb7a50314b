// A field for a text that rows have to have.

interface SearchProps {
  label: string;
  value: string;
  change: (value: string) => void;
}

/** The field. */
export const Search = ({ label, value, change }: SearchProps) => (
  <input
    type="search"
    class="search"
    aria-label={label}
    placeholder={label}
    value={value}
    onInput={(event) => change(event.currentTarget.value)}
  />
);
