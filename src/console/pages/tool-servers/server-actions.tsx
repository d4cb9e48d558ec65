import { useState } from "react";
import {
  type ToolServer,
  type ToolServerChange,
  useChangeToolServer,
  useDeleteToolServer,
} from "../../api/queries/tool-servers.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Checkbox } from "../../ui/forms/checkbox.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { TimeoutField, UrlField } from "./add-dialog.tsx";
import { HeaderFields, type HeaderRow, headersOf } from "./header-fields.tsx";

interface ServerDialogProps {
  readonly server: ToolServer;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function ChangeDialog({ isOpen, ...props }: ServerDialogProps) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={props.onClose}
      title={`Change tool server ${props.server.name}`}
    >
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ server, onClose }: Omit<ServerDialogProps, "isOpen">) {
  const [before] = useState(server);
  const [url, setUrl] = useState(server.url);
  const [timeout, setTimeout] = useState(server.timeout_ms);
  const [isReplacing, setReplacing] = useState(false);
  const [headers, setHeaders] = useState<readonly HeaderRow[]>([]);
  const change = useChangeToolServer(server.id);
  const names = before.header_names;
  // The secrets of one server are not sent to another, so the server asks for them again.
  const isElsewhere = originOf(url) !== originOf(before.url);
  const hasHeaders = isReplacing || isElsewhere;
  const changes: ToolServerChange = {
    ...(url !== before.url && { url }),
    ...(timeout !== before.timeout_ms && { timeout_ms: timeout }),
    ...(hasHeaders && { headers: headersOf(headers) }),
  };
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save tool server"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`Tool server ${server.name} is changed`);
      }}
    >
      <UrlField value={url} onChange={setUrl} />
      {url !== before.url && (
        <p className="text-warn">
          At another address all approvals and levels are gone, and its tools wait for approval.
        </p>
      )}
      {!isElsewhere && (
        <Checkbox
          name="replace-headers"
          label="Replace all headers"
          hint={
            names.length === 0
              ? "It has none now."
              : `It has ${names.join(", ")}; values are not shown.`
          }
          isChecked={isReplacing}
          onChange={setReplacing}
        />
      )}
      {hasHeaders && <HeaderFields rows={headers} onChange={setHeaders} />}
      <TimeoutField value={timeout} onChange={setTimeout} />
    </Form>
  );
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

/** Disables a tool server or enables it again. */
export function EnabledButton({ server }: { readonly server: ToolServer }) {
  const [isAsking, setAsking] = useState(false);
  const change = useChangeToolServer(server.id);
  const { enabled: isEnabled, name } = server;
  const action = isEnabled ? "Disable tool server" : "Enable tool server";
  return (
    <>
      <Button onClick={() => setAsking(true)}>{action}</Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`${isEnabled ? "Disable" : "Enable"} tool server ${name}?`}
        action={action}
        onConfirm={async () => {
          await change.mutateAsync({ enabled: !isEnabled });
          showToast(`Tool server ${name} is ${isEnabled ? "disabled" : "enabled"}`);
        }}
      >
        {isEnabled
          ? "Its tools are not offered until it is enabled again. Approvals and levels stay."
          : "It is asked for its tools again; those that are approved are offered."}
      </ConfirmDialog>
    </>
  );
}

interface DeleteDialogProps extends ServerDialogProps {
  readonly onDeleted: () => void;
}

export function DeleteDialog({ server, isOpen, onClose, onDeleted }: DeleteDialogProps) {
  const remove = useDeleteToolServer(server.id);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete tool server ${server.name}?`}
      action="Delete tool server"
      typeName={server.name}
      onConfirm={async () => {
        await remove.mutateAsync();
        onDeleted();
        showToast(`Tool server ${server.name} is deleted`);
      }}
    >
      Its tools are no longer offered; assistants that name them go on without. Approvals, levels
      and headers are gone.
    </ConfirmDialog>
  );
}
