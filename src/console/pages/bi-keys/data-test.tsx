import { useState } from "react";
import {
  type DataRows,
  useDataTables,
  useReadTable,
  useRunStatement,
} from "../../api/queries/data-tables.ts";
import { countOf } from "../../lib/count.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { ComboboxField } from "../../ui/forms/combobox.tsx";
import { TextAreaField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { ErrorCard } from "../../ui/status/error-card.tsx";
import { ResultRows } from "./result-rows.tsx";

const MOST = 100;
const FIRST_STATEMENT =
  "select model, sum(requests) as requests\nfrom usage_by_day\ngroup by model";

/** Reads as the session what keys read: a table's first rows, or the answer of a statement. */
export function DataTest() {
  // What is shown stays until the next answer is there.
  const [result, setResult] = useState<DataRows>();
  return (
    <div className="grid gap-4">
      <p className="max-w-prose text-muted">
        The same data as keys read, here with your session: as an administrator you see every table,
        a key only its own. {MOST} rows are shown.
      </p>
      <div className="grid items-start gap-6 md:grid-cols-[minmax(14rem,20rem)_1fr]">
        <ReadTable onResult={setResult} />
        <RunStatement onResult={setResult} />
      </div>
      {result !== undefined && <ResultRows result={result} />}
    </div>
  );
}

interface TestProps {
  readonly onResult: (result: DataRows) => void;
}

function ReadTable({ onResult }: TestProps) {
  const tables = useDataTables();
  const [name, setName] = useState("");
  const read = useReadTable();
  const chosen = tables.data?.data.find((table) => table.name === name);
  const submit = () => read.mutate({ name, most: MOST }, { onSuccess: onResult });
  return (
    <div className="grid gap-4">
      <ComboboxField
        name="table"
        label="Table"
        hint={chosen?.comment ?? "A dataset, or one that is built in."}
        placeholder="Choose a table"
        value={name}
        onChange={setName}
        choices={(tables.data?.data ?? []).map((table) => ({
          value: table.name,
          label: table.name,
          hint: countOf(table.columns.length, "column"),
        }))}
        isLoading={tables.isPending}
      />
      {tables.error !== null && (
        <ErrorCard
          what="The tables could not be loaded"
          error={tables.error}
          onRetry={() => void tables.refetch()}
        />
      )}
      {read.error !== null && <ErrorCard what={`${name} could not be read`} error={read.error} />}
      <div>
        <Button
          isBusy={read.isPending}
          disabledReason={name === "" ? "Choose a table first." : undefined}
          onClick={submit}
        >
          Read table
        </Button>
      </div>
    </div>
  );
}

function RunStatement({ onResult }: TestProps) {
  const [sql, setSql] = useState(FIRST_STATEMENT);
  const run = useRunStatement();
  return (
    <Form
      action="Run statement"
      onSubmit={async () => onResult(await run.mutateAsync({ sql, most: MOST }))}
    >
      <TextAreaField
        name="sql"
        label="Statement"
        hint="One statement of PostgreSQL that reads. What would write is refused."
        rows={5}
        isCode
        value={sql}
        onChange={setSql}
      />
    </Form>
  );
}
