// Whether the screen is narrow, and whether it is dark, as the style sheet asks it.

import { useEffect, useState } from "preact/hooks";

/** The same width stands in the style sheet. */
const NARROW = "(max-width: 47.99rem)";
const DARK = "(prefers-color-scheme: dark)";

function useMedia(query: string): boolean {
  const [matches, set] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const listen = () => set(media.matches);
    media.addEventListener("change", listen);
    return () => media.removeEventListener("change", listen);
  }, [query]);
  return matches;
}

/** Whether the screen is that of a phone. */
export const useNarrow = (): boolean => useMedia(NARROW);

/** Whether the system wants dark colours. */
export const useDark = (): boolean => useMedia(DARK);
