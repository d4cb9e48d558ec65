// Writes calls to a usage journal until it is killed: <database url> <journal folder> <file of acknowledgements>.
// A line `start id` or `end id` is in that file only after the journal took the record.
import { openSync, writeSync } from "node:fs";
import { randomBase62 } from "../../../src/lib/id.ts";
import {
  connectTo,
  openTestJournal,
  startCall,
  usageRecord,
} from "../stages/usage/usage-journal.ts";

const [, , url = "", folder = "", acknowledgements = ""] = process.argv;
const database = connectTo(url);
const journal = await openTestJournal(folder, database);
const file = openSync(acknowledgements, "a");
const run = randomBase62(8);
writeSync(1, "ready\n");

async function callOnce(id: string): Promise<void> {
  const call = await startCall(journal, id);
  writeSync(file, `start ${id}\n`);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  call.progress(5);
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  await call.close(usageRecord(id));
  writeSync(file, `end ${id}\n`);
}

async function callForGood(lane: number): Promise<never> {
  for (let index = 0; ; index += 1) await callOnce(`${run}-${lane}-${index}`);
}

await Promise.all(Array.from({ length: 50 }, (_, lane) => callForGood(lane)));
