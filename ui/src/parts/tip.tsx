// Explanations beside terms: shown when the term is pointed at or has the focus, and read with it.

import type { ButtonHTMLAttributes, ComponentChildren, TargetedEvent, TargetedMouseEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { TERMS, type TermName } from "../terms.ts";

const MARGIN = 8;

/** Puts an explanation below an element, or above it where there is no room. */
function place(tip: HTMLElement, owner: HTMLElement): void {
  const [around, own] = [owner.getBoundingClientRect(), tip.getBoundingClientRect()];
  const left = Math.min(around.left, document.documentElement.clientWidth - own.width - MARGIN);
  const below = around.bottom + 4;
  const top = below + own.height > window.innerHeight ? around.top - own.height - 4 : below;
  tip.style.left = `${Math.max(MARGIN, left)}px`;
  tip.style.top = `${Math.max(MARGIN, top)}px`;
}

/** Attributes of an element that has an explanation, and the explanation itself. */
export interface Explained {
  attributes: ButtonHTMLAttributes<HTMLButtonElement>;
  tip: ComponentChildren;
}

/** An explanation for a button. */
export function useTip(text: string | undefined): Explained {
  const id = useId();
  const owner = useRef<HTMLElement | null>(null);
  const tip = useRef<HTMLSpanElement>(null);
  const [isShown, show] = useState(false);
  useEffect(() => {
    const shown = tip.current;
    if (!isShown || shown === null || owner.current === null) {
      return undefined;
    }
    shown.showPopover();
    place(shown, owner.current);
    const hide = () => show(false);
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") {
        // A dialog below it stays open.
        event.preventDefault();
        hide();
      }
    };
    document.addEventListener("keydown", onKey, true);
    window.addEventListener("scroll", hide, true);
    return () => {
      document.removeEventListener("keydown", onKey, true);
      window.removeEventListener("scroll", hide, true);
      shown.hidePopover();
    };
  }, [isShown]);
  if (text === undefined) {
    return { attributes: {}, tip: null };
  }
  const on = (event: TargetedEvent<HTMLElement>) => {
    owner.current = event.currentTarget;
    show(true);
  };
  const off = (event: TargetedMouseEvent<HTMLElement>) => {
    const to = event.relatedTarget;
    show(to instanceof Node && (tip.current?.contains(to) ?? false));
  };
  return {
    attributes: {
      "aria-describedby": id,
      onMouseEnter: on,
      onFocus: on,
      onMouseLeave: off,
      onBlur: () => show(false),
    },
    tip: (
      <span ref={tip} id={id} role="tooltip" popover="manual" class="tip" onMouseLeave={() => show(false)}>
        {text}
      </span>
    ),
  };
}

/** A term with its explanation. */
export function Term({ name, children }: { name: TermName; children: ComponentChildren }) {
  const { attributes, tip } = useTip(TERMS[name]);
  return (
    <span class="term-around">
      <button type="button" class="term" {...attributes}>
        {children}
      </button>
      {tip}
    </span>
  );
}
