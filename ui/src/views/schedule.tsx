// The runs of a command that has a schedule.

import { age, count, parsed, relative } from "../format.ts";
import type { Run, Schedule } from "../live/state.ts";
import { Facts } from "../parts/facts.tsx";
import { Section } from "../parts/section.tsx";

function outcome(run: Run): string {
  if (run.error !== undefined) {
    return run.error;
  }
  const end = run.signal !== undefined ? `ended by signal ${run.signal}` : `exit code ${run.exit_code ?? 0}`;
  return run.timed_out === true ? `took too long, ${end}` : end;
}

const when = (time: string, now: number): string => {
  const seconds = parsed(time);
  return seconds === undefined ? time : `${relative(seconds, now)} (${time})`;
};

/** The section. */
export function ScheduleWords({ schedule, now }: { schedule: Schedule; now: number }) {
  const { last, next, runs } = schedule;
  return (
    <Section title="Schedule">
      <Facts
        facts={[
          ["Next run", next === undefined ? "not known" : when(next, now)],
          ["Runs", `${count(runs.total, "run")}, ${runs.failed} failed, ${schedule.skipped} left out`],
          [
            "Last run",
            last === undefined
              ? "none yet"
              : `${when(last.began, now)}, took ${age(last.duration_ms / 1000)}, ${outcome(last)}`,
          ],
        ]}
      />
      {last !== undefined && last.output.length > 0 && (
        <>
          <p class="note">Its last lines:</p>
          <pre class="output" tabIndex={0} aria-label="Last lines of the run">
            {last.output.join("\n")}
          </pre>
        </>
      )}
    </Section>
  );
}
