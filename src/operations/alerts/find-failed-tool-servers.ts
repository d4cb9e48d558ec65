import type { AlertRule } from "./alert-rule.ts";

/** Each custom tool server in the state `error`. */
export const findFailedToolServers: AlertRule["find"] = async (facts) =>
  (await facts.failedToolServers()).map(({ id, name, reason }) => ({
    subject: id,
    text: `The tool server "${name}" is in error; its tools are not available.`,
    details: { server_id: id, server_name: name, reason: reason ?? null },
    over: "the tool server is in error no more",
  }));
