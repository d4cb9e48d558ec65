import { UnreadableFile } from "../../knowledge/readers/reader.ts";
import { bytePath, readPath, shownPath, textOf } from "./byte-path.ts";
import { FileFault, nowMs, type ReadJob } from "./file-job.ts";
import { type Opened, openFile, openPlace } from "./open-place.ts";
import { ResultLines } from "./result-lines.ts";
import { type Lines, openText } from "./text-lines.ts";

/** Documents have to be read whole. */
const DOCUMENT_MAX_BYTES = 100 * 1024 * 1024;

/** Returns lines of a text file or of the text of a document. Throws a `FileFault`. */
export async function readLinesOf(job: ReadJob): Promise<string> {
  const path = readPath(job.path);
  const opened = openFile(openPlace(job.place), path);
  try {
    return await readPart(await linesOf(opened, textOf(path)), job, shownPath(path));
  } catch (thrown) {
    if (!(thrown instanceof UnreadableFile)) throw thrown;
    throw new FileFault(`'${shownPath(path)}' cannot be read: ${thrown.message}`, {
      cause: thrown,
    });
  } finally {
    opened.close();
  }
}

async function linesOf(opened: Opened, name: string): Promise<Lines> {
  const text = await openText(opened, name);
  if (text.encoding !== null) return text.lines();
  if (opened.size > DOCUMENT_MAX_BYTES) {
    throw new FileFault(
      `'${shownPath(bytePath(name))}' is no plain text and has more than ${DOCUMENT_MAX_BYTES} bytes, so it is not read.`,
    );
  }
  // Loading all formats takes a second, and most files are plain text.
  const { documentLines } = await import("./document-lines.ts");
  return documentLines(opened, name);
}

/** Returns the lines that were asked for, under one that says which they are and where to go on. */
async function readPart(lines: Lines, job: ReadJob, path: string): Promise<string> {
  const { offset, limit, maxBytes, endsAtMs } = job;
  const part = new ResultLines(limit, maxBytes);
  let number = 0;
  reading: for await (const batch of lines) {
    for (const line of batch) {
      number += 1;
      if (number >= offset && !part.add(line)) break reading;
    }
    if (nowMs() > endsAtMs) {
      throw new FileFault(`Reading '${path}' up to line ${number} took too long.`);
    }
  }
  const last = offset + part.count - 1;
  if (part.count > 0) {
    const rest = part.isCut ? `it goes on: continue with offset ${last + 1}` : "to the end";
    return [`${path}, lines ${offset} to ${last}, ${rest}:`, ...part.lines].join("\n");
  }
  if (number === 0) return `'${path}' is empty.`;
  throw new FileFault(`'${path}' has only ${number} lines.`);
}
