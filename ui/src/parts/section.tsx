// The parts of a view: its heading, its sections, and the words where there is nothing to show.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

/** The heading of a view, with what can be done there. */
export function Heading({
  title,
  above,
  children,
}: {
  title: string;
  above?: ComponentChildren;
  children?: ComponentChildren;
}) {
  useEffect(() => {
    document.title = `${title} · Corral`;
  }, [title]);
  return (
    <header class="heading">
      {above !== undefined && <p class="above">{above}</p>}
      <h1 tabIndex={-1}>{title}</h1>
      {children !== undefined && <div class="heading-more">{children}</div>}
    </header>
  );
}

interface SectionProps {
  title: string;
  /** A word beside the title. */
  note?: ComponentChildren;
  children: ComponentChildren;
}

/** A part with a title. */
export const Section = ({ title, note, children }: SectionProps) => (
  <section class="section" aria-label={title}>
    <div class="section-head">
      <h2>{title}</h2>
      {note !== undefined && <span class="note">{note}</span>}
    </div>
    {children}
  </section>
);

/** The words where there is nothing to show. */
export const Nothing = ({ children }: { children: ComponentChildren }) => <p class="nothing">{children}</p>;

/** The words for something that went wrong, or that people should know. */
export const Remark = ({
  tone,
  children,
}: {
  tone: "bad" | "warn" | "calm";
  children: ComponentChildren;
}) => <div class={`remark ${tone}`}>{children}</div>;
