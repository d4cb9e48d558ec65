// The program of the process that reads file connections: a folder that does not answer, a document that exhausts its
// reader or a search that takes long holds up this process and not the server. It does one job at a time.
import { serveJobs } from "../../lib/worker/serve-jobs.ts";
import type { FileJob } from "./file-job.ts";
import { findFiles } from "./find-files.ts";
import { openPlace } from "./open-place.ts";
import { readLinesOf } from "./read-lines.ts";
import { searchFiles } from "./search-files.ts";

serveJobs(async function* (job) {
  yield await work(job as FileJob);
});

async function work(job: FileJob): Promise<string> {
  switch (job.kind) {
    case "check":
      openPlace(job.place);
      return "";
    case "find":
      return findFiles(job);
    case "search":
      return await searchFiles(job);
    case "read":
      return await readLinesOf(job);
  }
}
