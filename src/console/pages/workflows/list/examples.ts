/** Workflows to begin with: those of docs/workflows.md, letter for letter. */

export interface Example {
  /** Its own name, by which addresses know it. */
  readonly name: string;
  readonly title: string;
  /** What has to be there before it can be saved. */
  readonly needs: string;
  readonly text: string;
}

export const BLANK = `{
  "name": "new workflow",
  "triggers": [],
  "steps": [
    {"id": "input", "kind": "input"}
  ]
}
`;

export const EXAMPLES: readonly Example[] = [
  {
    name: "invoices",
    title: "Invoices from a folder into a dataset",
    needs: "The folder inbox in WATCH_DIRS, and an API key. For administrators.",
    text: `{
  "name": "invoices",
  "triggers": [{"kind": "file", "folder": "inbox", "path": "invoices/"}],
  "steps": [
    {"id": "texts", "kind": "read_file", "connection": "inbox", "path": "{{ trigger.path }}", "format": "document", "file_field": "file"},
    {"id": "fields", "kind": "extract", "text": "{{ row.text }}", "on_row_error": "route",
     "fields": {"number": "The invoice number", "supplier": "Who sent it", "total": {"type": "number", "description": "Gross amount"}}},
    {"id": "columns", "kind": "select", "fields": ["number", "supplier", "total", "file"]},
    {"id": "store", "kind": "dataset_write", "dataset": "invoices", "mode": "upsert",
     "create": {"key": ["number"], "columns": [{"name": "number", "type": "text"}, {"name": "supplier", "type": "text"},
       {"name": "total", "type": "decimal"}, {"name": "file", "type": "text"}]}}
  ]
}
`,
  },
  {
    name: "tickets",
    title: "Tickets by webhook, classified, with a message about the urgent ones",
    needs: "An API key, and the secret chat with the address of your chat.",
    text: String.raw`{
  "name": "tickets",
  "triggers": [{"kind": "webhook"}],
  "steps": [
    {"id": "tickets", "kind": "input"},
    {"id": "kinds", "kind": "classify", "text": "{{ row.subject }}\n{{ row.text }}", "labels": ["urgent", "normal"], "output": "kind"},
    {"id": "urgent", "kind": "if", "condition": "row.kind == 'urgent'"},
    {"id": "tell", "kind": "notify", "each": "row", "url": {"secret": "chat"}, "text": "Urgent: {{ row.subject }}"}
  ]
}
`,
  },
  {
    name: "nightly orders",
    title: "A summary of yesterday's orders every night",
    needs: "The connection shop, and an API key. For administrators.",
    text: `{
  "name": "nightly orders",
  "triggers": [{"kind": "schedule", "cron": "30 2 * * *", "timezone": "Europe/Berlin"}],
  "steps": [
    {"id": "orders", "kind": "query_sql", "connection": "shop", "sql": "SELECT country, count(*) AS orders, sum(total) AS revenue FROM orders GROUP BY country"},
    {"id": "some", "kind": "flow_break", "break_on": "empty", "message": "There were no orders."},
    {"id": "table", "kind": "sql", "select": "SELECT json_group_array(json_object('country', country, 'orders', orders, 'revenue', revenue)) AS lines FROM some"},
    {"id": "summary", "kind": "chat", "prompt": "Summarize these figures in three sentences: {{ row.lines }}", "output": "summary"},
    {"id": "report", "kind": "write_file", "path": "reports/{{ run.id }}.json", "format": "json"}
  ]
}
`,
  },
  {
    name: "feedback",
    title: "Feedback from a CSV file, without duplicates, embedded, into a dataset",
    needs: "The file feedback.csv in WORKSPACE_DIR, and an API key. For administrators.",
    text: `{
  "name": "feedback",
  "triggers": [],
  "steps": [
    {"id": "feedback", "kind": "read_file", "path": "feedback.csv", "types": "text"},
    {"id": "trimmed", "kind": "map", "set": {"text": "row.text.trim()", "same": "row.text.trim().lower()"}},
    {"id": "columns", "kind": "select", "fields": ["text", "same"]},
    {"id": "once", "kind": "dedupe", "by": ["same"]},
    {"id": "vectors", "kind": "embed", "text": "{{ row.text }}", "output": "embedding"},
    {"id": "store", "kind": "dataset_write", "dataset": "feedback", "mode": "replace",
     "create": {"columns": [{"name": "text", "type": "text"}, {"name": "same", "type": "text"}, {"name": "embedding", "type": "json"}]}}
  ]
}
`,
  },
  {
    name: "failures",
    title: "A message when any workflow failed",
    needs: "The secrets chat and chat_key.",
    text: `{
  "name": "failures",
  "triggers": [{"kind": "workflow", "workflow": "*", "on": ["failed"], "coalesce": true}],
  "steps": [
    {"id": "failed", "kind": "input"},
    {"id": "tell", "kind": "notify", "each": "row", "url": {"secret": "chat"}, "sign_with": "chat_key",
     "text": "Workflow {{ row.workflow_name }} failed at {{ row.failed_step }}: {{ row.error }}"}
  ]
}
`,
  },
];
