// The program of the process that does the row work of steps: expressions, SQL and files that others wrote.
import { type ReadInput, serveJobs } from "../../lib/worker/serve-jobs.ts";
import { findProgram } from "./programs/registry.ts";
import { readInputs } from "./row-inputs.ts";
import { RowOutputs, type SentResult } from "./row-outputs.ts";
import type { RowWork } from "./row-program.ts";
import type { SentJob } from "./row-work.ts";

serveJobs((job, readInput) => workOn(job as SentJob, readInput));

async function* workOn(job: SentJob, readInput: ReadInput): AsyncGenerator<SentResult, void> {
  const program = await findProgram(job.program);
  const outputs = new RowOutputs(job.onRowError);
  const { settings, scope, folder, inputs } = job;
  const work: RowWork = {
    ...{ settings, scope, folder, inputs, outputs },
    ...readInputs(job, readInput),
  };
  for await (const _ of program(work)) {
    yield* outputs.take();
    if (outputs.isOver) return;
  }
  yield* outputs.end();
}
