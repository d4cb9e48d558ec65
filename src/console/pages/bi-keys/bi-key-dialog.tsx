import { useState } from "react";
import type { IssuedBiKey } from "../../api/queries/bi-keys.ts";
import { IssuedDialog } from "../../parts/credentials/issued-dialog.tsx";
import { CopyButton } from "../../ui/buttons/copy-button.tsx";
import { Tabs } from "../../ui/navigation/tabs.tsx";
import { CodeBlock } from "../../ui/text/code-block.tsx";
import { type ConnectionTool, connectionTools } from "./connection-tools.ts";

interface BiKeyDialogProps {
  readonly issued: IssuedBiKey | undefined;
  readonly onClose: () => void;
}

/** A key's secret and the texts with it. */
export function BiKeyDialog(props: BiKeyDialogProps) {
  return (
    <IssuedDialog
      {...props}
      title={({ name }) => `The secret of ${name}`}
      description="It is shown this once, and so are the texts with it. Who has it can read the key's tables."
      isWide
    >
      {(issued) => (
        <>
          <CodeBlock label="The BI key" text={issued.key} />
          <Connections issued={issued} />
        </>
      )}
    </IssuedDialog>
  );
}

function Connections({ issued }: { readonly issued: IssuedBiKey }) {
  const tools = connectionTools(issued);
  const [shown, setShown] = useState(tools[0]?.id ?? "");
  const { reason } = issued.connections;
  return (
    <div className="grid min-w-0 gap-3">
      {reason !== null && <p className="rounded-md bg-warn-soft px-3 py-2 text-warn">{reason}</p>}
      <Tabs
        label="Tools"
        value={shown}
        onChange={setShown}
        tabs={tools.map((tool) => ({
          id: tool.id,
          label: tool.label,
          content: <Tool tool={tool} />,
        }))}
      />
    </div>
  );
}

function Tool({ tool }: { readonly tool: ConnectionTool }) {
  return (
    <div className="grid min-w-0 gap-2">
      <p className="text-sm text-muted">{tool.hint}</p>
      {tool.text !== undefined && <CodeBlock label={tool.label} text={tool.text} />}
      {tool.fields !== undefined && (
        <dl className="grid gap-x-4 rounded-lg border border-line bg-sunken px-3 py-1 sm:grid-cols-[auto_1fr]">
          {tool.fields.map(([name, value]) => (
            <div key={name} className="sm:contents">
              <dt className="pt-1 text-muted sm:flex sm:items-center sm:pt-0">{name}</dt>
              <dd className="flex min-w-0 items-center gap-2">
                <code className="min-w-0 flex-1 break-all font-mono text-sm">{value}</code>
                <CopyButton text={value} label={`Copy: ${name}`} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
