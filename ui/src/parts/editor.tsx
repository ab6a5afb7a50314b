// An editor for JSON: a text area that is as large as its text, with numbers and colours for the lines in sight.

import type { ComponentChildren, TargetedEvent, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { lineOf } from "../config/places.ts";

/** A place that the editor is to show; another object leads there anew. */
export interface Target {
  offset: number;
}

interface EditorProps {
  label: string;
  text: string;
  /** Called with each change; without it, the text is only to be read. */
  change: ((text: string) => void) | undefined;
  /** Lines that something is wrong with, from 0. */
  marked: ReadonlySet<number>;
  target: Target | undefined;
  onCursor: (offset: number) => void;
}

/** The same height stands in the style sheet. */
const LINE = 20;
const BEYOND = 10;

// Names, strings, comments, numbers, words; what is in between stays as it is.
const TOKENS = /("(?:[^"\\]|\\.)*"?)(\s*:)?|(\/\/.*|\/\*.*)|(-?\d[\d.eE+-]*|true|false|null)/g;

/** A line of JSON with colours. */
function coloured(line: string): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of line.matchAll(TOKENS)) {
    const [whole, string, colon = "", comment, word] = match;
    parts.push(line.slice(end, match.index));
    end = match.index + whole.length;
    if (string !== undefined) {
      parts.push(<span class={colon === "" ? "j-string" : "j-name"}>{string}</span>, colon);
    } else {
      parts.push(<span class={comment === undefined ? "j-word" : "j-comment"}>{comment ?? word}</span>);
    }
  }
  parts.push(line.slice(end));
  return parts;
}

/** A new line begins below the first character of the one before. */
function keepIndent(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) {
    return;
  }
  const { value, selectionStart } = event.currentTarget;
  const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
  const indent = /^\s*/.exec(line)?.[0] ?? "";
  const more = /[{[]\s*$/.test(line) ? "    " : "";
  // The only way that the browser's undo knows of.
  if (document.execCommand("insertText", false, `\n${indent}${more}`)) {
    event.preventDefault();
  }
}

/** The editor. */
export function Editor({ label, text, change, marked, target, onCursor }: EditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = useMemo(() => text.split("\n"), [text]);
  const longest = useMemo(() => lines.reduce((most, line) => Math.max(most, line.length), 0), [lines]);
  const [range, setRange] = useState({ from: 0, to: 60 });
  const look = () => {
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const from = Math.max(0, Math.floor(scrollTop / LINE) - BEYOND);
    const to = Math.ceil((scrollTop + clientHeight) / LINE) + BEYOND;
    setRange((last) => (last.from === from && last.to === to ? last : { from, to }));
  };
  useLayoutEffect(look, [lines]);
  useEffect(() => {
    if (target !== undefined && box.current !== null && area.current !== null) {
      area.current.focus({ preventScroll: true });
      area.current.setSelectionRange(target.offset, target.offset);
      box.current.scrollTop = Math.max(0, lineOf(text, target.offset) * LINE - box.current.clientHeight / 3);
      box.current.scrollLeft = 0;
      onCursor(target.offset);
    }
  }, [target]);
  const shown = lines.slice(range.from, range.to);
  const offset = { transform: `translateY(${range.from * LINE}px)` };
  const tell = (event: TargetedEvent<HTMLTextAreaElement>) => onCursor(event.currentTarget.selectionStart);
  return (
    <div class="editor" ref={box} onScroll={look}>
      <div class="gutter" aria-hidden="true">
        <div style={offset}>
          {shown.map((_, at) => (
            <div key={range.from + at} class={marked.has(range.from + at) ? "marked" : ""}>
              {range.from + at + 1}
            </div>
          ))}
        </div>
      </div>
      <div class="paper">
        <pre class="colours" aria-hidden="true" style={offset}>
          {shown.map((line, at) => (
            <div key={range.from + at} class={marked.has(range.from + at) ? "marked" : ""}>
              {coloured(line)}
            </div>
          ))}
        </pre>
        <textarea
          ref={area}
          aria-label={label}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          wrap="off"
          rows={lines.length + 1}
          cols={longest + 4}
          readOnly={change === undefined}
          value={text}
          onInput={(event) => change?.(event.currentTarget.value)}
          onKeyDown={keepIndent}
          onKeyUp={tell}
          onClick={tell}
        />
      </div>
    </div>
  );
}
