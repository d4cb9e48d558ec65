import type { AuditFilters } from "../../api/queries/audit.ts";

type Kind = NonNullable<AuditFilters["target_kind"]>;

/** A record, so that a kind which the server adds is missed by the compiler. */
const LABELS: Readonly<Record<Kind, string>> = {
  user: "Users",
  session: "Sessions",
  api_key: "API keys",
  bi_key: "BI keys",
  service_token: "Service tokens",
  license: "License",
  settings: "Settings",
  backup: "Backups",
  event: "Events",
  usage: "Usage",
  assistant: "Assistants",
  file: "Files",
  vector_store: "Knowledge",
  connection: "Connections",
  mcp_server: "Tool servers",
  dataset: "Datasets",
  tool: "Tools",
  workflow: "Workflows",
  workflow_run: "Workflow runs",
  workflow_secret: "Workflow secrets",
};

export const TARGET_KINDS = Object.entries(LABELS).map(([value, label]) => ({ value, label }));
