import { callHttp } from "../../../support/clients/http-session.ts";
import { eventually } from "../../../support/stages/usage/usage-journal.ts";
import type { ConsoleStage } from "../console-stage.ts";
import type { Samples } from "./fill-gateway.ts";

type Create = (path: string, body: unknown) => Promise<{ readonly id: string }>;

/**
 * Waits for the rows of the calls that were made, and gives up an event: a workflow posts to an address of this
 * machine, which workflows do not reach. Returns an id for the requests and for the events.
 */
export async function fillReports(
  { url, sessions }: Pick<ConsoleStage, "url" | "sessions">,
  create: Create,
): Promise<Samples> {
  const read = async (path: string) =>
    (await callHttp(url, { path, token: sessions.administrator })).body.data;
  const workflow = await create("/api/pipeline/workflows", {
    name: "Tell of orders",
    steps: [
      { id: "rows", kind: "input" },
      { id: "tell", kind: "notify", url: "http://127.0.0.2:9/", text: "{{ row.count }} orders" },
    ],
  });
  await create(`/api/pipeline/workflows/${workflow.id}/runs`, { rows: [{ order: 1 }] });
  await eventually(async () => (await read("/api/requests")).length > 0);
  await eventually(async () => (await read("/api/admin/events?state=dead")).length > 0);
  const [request] = await read("/api/requests?limit=1");
  const [event] = await read("/api/admin/events?state=dead&limit=1");
  return { requests: request.id, events: event.id };
}
