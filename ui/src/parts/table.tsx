// Tables that draw only the rows in sight, so that thousands of them cost no more than a screenful.
//
// The page itself scrolls; rows are as high as each other and stand at computed places.

import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { TERMS, type TermName } from "../terms.ts";
import { useTip } from "./tip.tsx";
import { useNarrow } from "./width.ts";

/** A column. On a narrow screen those of priority 2 stand in a second line, and those of priority 3 nowhere. */
export interface Column<Row> {
  key: string;
  label: string;
  /** The label in a second line; empty where the cell says enough. */
  brief?: string;
  term?: TermName;
  size: "name" | "text" | "number" | "small" | "actions";
  priority: 1 | 2 | 3;
  cell: (row: Row) => ComponentChildren;
  /** A column with an order can be sorted by. */
  order?: (row: Row) => number | string;
}

interface TableProps<Row> {
  /** The table's name for people who do not see it. */
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  /** The column to begin with, and whether its largest values come first. */
  sorted?: { by: string; isDescending: boolean };
  /** The words where there are no rows. */
  empty: ComponentChildren;
}

const HEIGHT = 36;
const NARROW_HEIGHT = 64;
const BEYOND = 8;

// Made once, as making one takes longer than thousands of comparisons.
const NAMES = new Intl.Collator("en", { numeric: true });

type Sorting = { by: string; isDescending: boolean } | undefined;

function compare(one: number | string, other: number | string): number {
  if (typeof one === "string" && typeof other === "string") {
    return NAMES.compare(one, other);
  }
  return Number(one) - Number(other);
}

function inOrder<Row>(rows: Row[], columns: Column<Row>[], sorting: Sorting): Row[] {
  const order = columns.find((column) => column.key === sorting?.by)?.order;
  if (order === undefined) {
    return rows;
  }
  const turn = sorting?.isDescending === true ? -1 : 1;
  return rows.toSorted((one, other) => turn * compare(order(one), order(other)));
}

/** The rows in sight of an element of so many rows. */
function useWindow(rows: number, height: number) {
  const body = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState({ from: 0, to: 40 });
  const look = () => {
    const top = body.current?.getBoundingClientRect().top ?? 0;
    const from = Math.max(0, Math.floor(-top / height) - BEYOND);
    const to = Math.min(rows, Math.ceil((window.innerHeight - top) / height) + BEYOND);
    setRange((last) => (last.from === from && last.to === to ? last : { from, to: Math.max(from, to) }));
  };
  useLayoutEffect(look);
  useEffect(() => {
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  });
  return { body, range };
}

interface HeadProps {
  column: Column<never>;
  sorting: Sorting;
  sort: ((by: string) => void) | undefined;
}

function Head({ column, sorting, sort }: HeadProps) {
  const { attributes, tip } = useTip(column.term && TERMS[column.term]);
  const direction =
    sorting?.by !== column.key ? undefined : sorting.isDescending ? "descending" : "ascending";
  const isButton = sort !== undefined || column.term !== undefined;
  return (
    <div
      role="columnheader"
      class={cellClass(column)}
      {...(direction === undefined ? {} : { "aria-sort": direction })}
    >
      {isButton ? (
        <button
          type="button"
          class={`column ${column.term === undefined ? "" : "term"} ${direction ?? ""}`}
          {...attributes}
          onClick={() => sort?.(column.key)}
        >
          {column.label}
        </button>
      ) : (
        column.label
      )}
      {tip}
    </div>
  );
}

const cellClass = (column: { size: string; priority: number }) => `cell ${column.size} p${column.priority}`;

/** Up and down lead to the first link or button of the next row. */
function move(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[role=row]") : null;
  if (step === undefined || row === null || event.target instanceof HTMLInputElement) {
    return;
  }
  const index = Number(row.getAttribute("aria-rowindex")) + step;
  const next = event.currentTarget.querySelector<HTMLElement>(`[aria-rowindex="${index}"] :is(a, button)`);
  if (next !== null) {
    event.preventDefault();
    next.focus();
  }
}

/** The table. */
export function Table<Row>({ label, columns, rows, keyOf, sorted, empty }: TableProps<Row>) {
  const height = useNarrow() ? NARROW_HEIGHT : HEIGHT;
  const [sorting, setSorting] = useState<Sorting>(sorted);
  const ordered = useMemo(() => inOrder(rows, columns, sorting), [rows, sorting]);
  const { body, range } = useWindow(ordered.length, height);
  const sort = (by: string) =>
    setSorting((last) => ({
      by,
      isDescending: last?.by === by ? !last.isDescending : by !== columns[0]?.key,
    }));
  if (rows.length === 0) {
    return <p class="nothing">{empty}</p>;
  }
  return (
    <div role="table" class="table" aria-label={label} aria-rowcount={ordered.length + 1} onKeyDown={move}>
      <div role="rowgroup" class="table-head">
        <div role="row" class="row head" aria-rowindex={1}>
          {columns.map((column) => (
            <Head
              key={column.key}
              column={column as unknown as Column<never>}
              sorting={sorting}
              sort={column.order && sort}
            />
          ))}
        </div>
      </div>
      <div role="rowgroup" class="table-body" ref={body} style={{ height: `${ordered.length * height}px` }}>
        {ordered.slice(range.from, range.to).map((row, at) => (
          <div
            role="row"
            class="row"
            key={keyOf(row)}
            aria-rowindex={range.from + at + 2}
            style={{ transform: `translateY(${(range.from + at) * height}px)` }}
          >
            {columns.map((column) => (
              <div
                role="cell"
                class={cellClass(column)}
                key={column.key}
                data-label={column.brief ?? column.label}
              >
                {column.cell(row)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
