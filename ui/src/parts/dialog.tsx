// A dialog of the browser's own: it keeps the focus, closes by Escape, and gives the focus back.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  title: string;
  isWide?: boolean;
  close: () => void;
  children: ComponentChildren;
}

/** A dialog that is open as long as it is drawn. */
export function Dialog({ title, isWide = false, close, children }: DialogProps) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  // The focus goes back at once, before what comes next looks for it.
  useLayoutEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    shown?.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement && before.isConnected) {
        before.focus();
      }
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={isWide ? "dialog wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // The browser closes it by itself when Escape is pressed again and again.
      onClose={() => dialog.current !== null && close()}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
