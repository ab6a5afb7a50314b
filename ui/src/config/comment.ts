// Comments for the history: one line of so many bytes at most. The daemon refuses a change with another one.

/** A comment may be that long. */
export const MOST_BYTES = 200;

const line = (comment: string): string => comment.replace(/\p{Cc}+/gu, " ").trim();

/** Whether a part of it would be cut off. */
export const isTooLong = (comment: string): boolean => new TextEncoder().encode(line(comment)).length > MOST_BYTES;

/** The query of a change with a comment; as much of it as the daemon takes. */
export function commentQuery(comment: string): string {
  const bytes = new Uint8Array(MOST_BYTES);
  // No character is cut in two.
  const { written } = new TextEncoder().encodeInto(line(comment), bytes);
  const words = new TextDecoder().decode(bytes.subarray(0, written));
  return words === "" ? "" : `?comment=${encodeURIComponent(words)}`;
}
