// Keeps a view that fails from taking the rest of the page with it.

import { Component, type ComponentChildren } from "preact";
import { Remark } from "./section.tsx";

interface BoundaryProps {
  children: ComponentChildren;
}

/** The view, or the words for its failure. */
export class Boundary extends Component<BoundaryProps, { problem?: string }> {
  override state: { problem?: string } = {};

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ problem: error instanceof Error ? error.message : String(error) });
  }

  override render({ children }: BoundaryProps) {
    if (this.state.problem === undefined) {
      return children;
    }
    return (
      <Remark tone="bad">
        <h1 tabIndex={-1}>This view cannot be shown</h1>
        <p>{this.state.problem}</p>
        <p>
          <button type="button" class="button" onClick={() => location.reload()}>
            Load the page again
          </button>
        </p>
      </Remark>
    );
  }
}
