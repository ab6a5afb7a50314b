// The mark of the page: a fence with a gate.

/** The mark with the name. */
export const Logo = () => (
  <span class="logo">
    <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">
      <path
        d="M3 5v15M9 5v15M15 5v15M21 5v15M1 9h22M1 15.5h22"
        fill="none"
        stroke="currentColor"
        stroke-width="2.2"
        stroke-linecap="round"
      />
    </svg>
    Corral
  </span>
);
