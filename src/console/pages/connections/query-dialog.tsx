import { useState } from "react";
import type { Connection } from "../../api/queries/connections.ts";
import { type ToolTrialResult, useCallTool } from "../../api/queries/tools.ts";
import { readQueryResult } from "../../lib/tables/query-result.ts";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { CallButton } from "../../ui/overlays/call-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { ValueTable } from "../../ui/tables/value-table.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { Duration } from "../../ui/text/count.tsx";

interface QueryDialogProps {
  readonly connection: Connection;
  /** The statement it begins with; undefined closes the dialog. */
  readonly start: string | undefined;
  readonly onClose: () => void;
}

/** One reading statement, run as a model would run it: by `query_sql`, under its checks and limits. */
export function QueryDialog({ connection, start, onClose }: QueryDialogProps) {
  return (
    <Dialog
      isOpen={start !== undefined}
      onClose={onClose}
      title={`Query ${connection.name}`}
      description="One statement that reads, under the checks and limits of models: 15 s, up to TOOL_QUERY_SQL_MAX_ROWS rows. The audit log has the call, without the statement."
      isWide
    >
      {start !== undefined && <Query connection={connection} start={start} />}
    </Dialog>
  );
}

function Query({ connection, start }: { readonly connection: Connection; readonly start: string }) {
  const [sql, setSql] = useState(start);
  const [result, setResult] = useState<ToolTrialResult>();
  const call = useCallTool();
  const args = { connection: connection.name, sql };
  return (
    <>
      <Form
        action="Run query"
        disabledReason={sql.trim() === "" ? "There is no statement yet." : undefined}
        onSubmit={async () => {
          setResult(undefined);
          setResult(await call.mutateAsync({ name: "query_sql", arguments: args }));
        }}
      >
        <TextAreaField
          name="sql"
          label="Statement"
          rows={5}
          isCode
          value={sql}
          onChange={setSql}
          placeholder="SELECT …"
        />
      </Form>
      {result !== undefined && <Result result={result} />}
      <div className="flex justify-end">
        <CallButton
          call={{
            method: "POST",
            path: "/api/tools/query_sql/call",
            body: { arguments: args },
            credential: "session",
          }}
        />
      </div>
    </>
  );
}

function Result({ result }: { readonly result: ToolTrialResult }) {
  const { is_error: isError, text, duration_ms: duration } = result;
  if (isError) {
    return (
      <div role="alert" className="grid gap-1 rounded-lg border border-bad bg-bad-soft p-3">
        <p className="font-medium text-bad">The statement did not run</p>
        <p className="break-words whitespace-pre-wrap">{text}</p>
      </div>
    );
  }
  const read = readQueryResult(text);
  return (
    <section aria-label="The result" className="grid min-w-0 gap-2">
      <p role="status" className="text-muted">
        {read?.note ?? "It answered."} <Duration value={duration} />
      </p>
      {read === undefined ? (
        <CodeBlock label="The result" text={text} />
      ) : (
        <ValueTable label="Rows" columns={read.columns} rows={read.rows} />
      )}
    </section>
  );
}
