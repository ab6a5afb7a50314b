// Tabs that arrow keys lead through (WAI-ARIA, "Tabs with automatic activation").

import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useId, useRef } from "preact/hooks";

/** A tab. */
export interface Tab {
  key: string;
  label: ComponentChildren;
  content: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: Tab[];
  shown: string;
  show: (key: string) => void;
}

/** The tabs, and the content of the one that is shown. */
export function Tabs({ label, tabs, shown, show }: TabsProps) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const onKey = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const at = tabs.findIndex((tab) => tab.key === shown);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1 + tabs.length, Home: 0, End: tabs.length - 1 }[
      event.key
    ];
    const next = to === undefined ? undefined : tabs[to % tabs.length];
    if (to !== undefined && next !== undefined) {
      event.preventDefault();
      show(next.key);
      list.current?.querySelectorAll<HTMLElement>("[role=tab]")[to % tabs.length]?.focus();
    }
  };
  return (
    <div class="tabs">
      <div role="tablist" class="tablist" aria-label={label} ref={list} onKeyDown={onKey}>
        {tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            key={tab.key}
            id={`${id}-${tab.key}`}
            aria-selected={tab.key === shown}
            aria-controls={`${id}-panel`}
            tabIndex={tab.key === shown ? 0 : -1}
            onClick={() => show(tab.key)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" class="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${shown}`}>
        {tabs.find((tab) => tab.key === shown)?.content()}
      </div>
    </div>
  );
}
