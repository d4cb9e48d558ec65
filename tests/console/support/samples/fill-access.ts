import { callHttp } from "../../../support/clients/http-session.ts";
import type { ConsoleStage } from "../console-stage.ts";

type Create = (path: string, body: unknown) => Promise<{ readonly id: string }>;

/** Adds BI keys, a statement of one of them, and service tokens. */
export async function fillAccess(
  { url, sessions }: ConsoleStage,
  create: Create,
): Promise<Readonly<Record<string, string>>> {
  const token = sessions.administrator;
  const finance = await create("/v1/bi-keys", {
    name: "finance",
    datasets: ["usage_by_day", "keys"],
    ip_allow: ["192.0.2.0/24"],
  });
  await create("/v1/bi-keys", { name: "dashboards", datasets: ["*"], timeout_seconds: 60 });
  await callHttp(url, { path: "/v1/data/keys?limit=5", token });
  const deploy = await create("/api/service-tokens", {
    name: "deploy",
    scopes: ["users:read", "users:write", "keys:read"],
    expires_at: "2099-01-01T00:00:00Z",
  });
  await create("/api/service-tokens", { name: "billing", scopes: ["usage:read"] });
  return { "bi-keys": finance.id, "service-tokens": deploy.id };
}
