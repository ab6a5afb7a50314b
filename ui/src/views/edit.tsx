// Edits the configuration: problems and meanings stand beside the text.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, type Problem } from "../api.ts";
import { markedLines, offsetsOf } from "../config/marks.ts";
import { nearestPlace, pathAt, type Path } from "../config/places.ts";
import { pointer } from "../config/pointer.ts";
import { described, options, type Schema } from "../config/schema.ts";
import type { Validation } from "../config/validation.ts";
import { Editor, type Target } from "../parts/editor.tsx";

interface EditTabProps {
  text: string;
  change: ((text: string) => void) | undefined;
  validation: Validation;
  /** A JSON pointer to show first. */
  place: string | undefined;
}

/** The schema, asked for once. */
function useSchema(): Schema | undefined {
  const [schema, setSchema] = useState<Schema>();
  useEffect(() => {
    void ask({ method: "GET", path: "/openapi.json" }).then((answer) => {
      const document = answer.body as { components?: { schemas?: { Configuration?: Schema } } } | null;
      setSchema(answer.isDone ? document?.components?.schemas?.Configuration : undefined);
    });
  }, []);
  return schema;
}

/** A moment after the cursor was moved last. */
const PAUSE = 150;

const NONE: ReadonlySet<number> = new Set();

/** The tab. */
export function EditTab({ text, change, validation, place }: EditTabProps) {
  const schema = useSchema();
  const [target, setTarget] = useState<Target>();
  const [path, setPath] = useState<Path>([]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onCursor = (offset: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setPath(pathAt(text, offset)), PAUSE);
  };
  useEffect(() => {
    const found = place === undefined ? undefined : nearestPlace(text, place);
    if (found !== undefined) {
      setTarget({ offset: found.from });
    }
  }, [place]);
  // Once for each verdict: a large text cannot be walked with each key.
  const marked = useMemo(
    () => (validation.is === "invalid" ? markedLines(validation.text, validation.problems) : NONE),
    [validation],
  );
  return (
    <div class="edit">
      <Editor
        label="Configuration as JSON"
        text={text}
        change={change}
        marked={marked}
        target={target}
        onCursor={onCursor}
      />
      <div class="beside">
        <Problems
          validation={validation}
          go={(problem) => {
            const [offset] = offsetsOf(text, [problem]);
            if (offset !== undefined) {
              setTarget({ offset });
            }
          }}
        />
        <Meaning schema={schema} path={path} />
      </div>
    </div>
  );
}

function Problems({ validation, go }: { validation: Validation; go: (problem: Problem) => void }) {
  if (validation.is === "unknown") {
    return <p class="answer bad">{validation.words}</p>;
  }
  if (validation.is !== "invalid") {
    return null;
  }
  return (
    <ul class="problems" aria-label="Problems" aria-live="polite">
      {validation.problems.map((problem) => (
        <li key={`${problem.path} ${problem.detail}`}>
          <p>{problem.detail}</p>
          {problem.suggestion !== undefined && <p class="note">Did you mean "{problem.suggestion}"?</p>}
          <button type="button" class="button small" onClick={() => go(problem)}>
            {problem.path ?? (problem.line === undefined ? "Show" : `Line ${problem.line}`)}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The meaning of the option at the cursor. */
function Meaning({ schema, path }: { schema: Schema | undefined; path: Path }) {
  if (schema === undefined) {
    return null;
  }
  const option = described(schema, path);
  const others = options(schema, path);
  return (
    <div class="meaning">
      <p class="place">{path.length === 0 ? "The whole configuration" : pointer(path)}</p>
      {option !== undefined && (
        <>
          <p>
            <strong>{option.name}</strong> {option.schema.description}
          </p>
          {option.schema.default !== undefined && (
            <p class="note">
              Without it: <code>{JSON.stringify(option.schema.default)}</code>
            </p>
          )}
        </>
      )}
      {others.length > 0 && (
        <>
          <p class="note">Options here:</p>
          <ul class="options">
            {others.map(({ name, schema: { description } }) => (
              <li key={name} title={description}>
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}
