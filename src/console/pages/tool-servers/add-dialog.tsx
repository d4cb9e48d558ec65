import { useState } from "react";
import { type ToolServer, useAddToolServer } from "../../api/queries/tool-servers.ts";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { NumberField } from "../../ui/forms/number-field.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { HeaderFields, type HeaderRow, headersOf } from "./header-fields.tsx";

interface AddDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onAdded: (server: ToolServer) => void;
}

export function AddDialog({ isOpen, onClose, onAdded }: AddDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title="Add tool server"
      description="It is asked for its tools at once. One that does not answer is saved too, and asked every 20 seconds."
    >
      <AddForm onClose={onClose} onAdded={onAdded} />
    </Dialog>
  );
}

function AddForm({ onClose, onAdded }: Omit<AddDialogProps, "isOpen">) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [headers, setHeaders] = useState<readonly HeaderRow[]>([]);
  const [timeout, setTimeout] = useState<number | null>(null);
  const [isSeen, setSeen] = useState(true);
  const add = useAddToolServer();
  return (
    <Form
      action="Add tool server"
      onCancel={onClose}
      onSubmit={async () => {
        const server = await add.mutateAsync({
          name,
          url,
          headers: headersOf(headers),
          enabled: true,
          timeout_ms: timeout,
          approve_tools: !isSeen,
        });
        onClose();
        onAdded(server);
        showToast(`Tool server ${server.name} is added`);
      }}
    >
      <TextField
        name="name"
        label="Name"
        hint="1 to 20 of a-z, 0-9 and -. It is part of its tools' names and cannot be changed."
        value={name}
        onChange={setName}
        spellCheck={false}
        autoCapitalize="none"
      />
      <UrlField value={url} onChange={setUrl} />
      <HeaderFields rows={headers} onChange={setHeaders} />
      <TimeoutField value={timeout} onChange={setTimeout} />
      <Checkbox
        name="approve_tools"
        label="Let me see its tools before they are offered"
        hint="Otherwise all tools that it lists now are approved unseen."
        isChecked={isSeen}
        onChange={setSeen}
      />
    </Form>
  );
}

interface FieldOf<Value> {
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

export function UrlField(props: FieldOf<string>) {
  return (
    <TextField
      name="url"
      label="Address"
      hint="Of its endpoint for Streamable HTTP, as https://tools.example.com/mcp. One in your own network has to be listed in EGRESS_ALLOW."
      inputMode="url"
      spellCheck={false}
      autoCapitalize="none"
      {...props}
    />
  );
}

export function TimeoutField(props: FieldOf<number | null>) {
  return (
    <NumberField
      name="timeout_ms"
      label="Time limit of a call"
      hint="TOOL_TIMEOUT_MS holds in any case."
      placeholder="TOOL_TIMEOUT_MS"
      unit="ms"
      step={1_000}
      {...props}
    />
  );
}
