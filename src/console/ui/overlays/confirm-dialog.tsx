import { type ReactNode, useState } from "react";
import { TextField } from "../forms/field.tsx";
import { Form } from "../forms/form.tsx";
import { Dialog } from "./dialog.tsx";

interface ConfirmDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  /** The question with the thing's name: "Delete key reporting?". */
  readonly title: string;
  /** What is lost and what stays. */
  readonly children: ReactNode;
  /** The verb with its object: "Delete key". */
  readonly action: string;
  /** What has to be typed, for what cannot be undone. */
  readonly typeName?: string;
  readonly onConfirm: () => Promise<unknown>;
}

/** Asks before something is done that takes something away. It closes when that is done. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  return (
    <Dialog isOpen={props.isOpen} onClose={props.onClose} title={props.title}>
      <Question {...props} />
    </Dialog>
  );
}

function Question({ children, action, typeName, onConfirm, onClose }: ConfirmDialogProps) {
  const [typed, setTyped] = useState("");
  const isMissing = typeName !== undefined && typed !== typeName;
  return (
    <Form
      action={action}
      look="danger"
      onCancel={onClose}
      disabledReason={isMissing ? "Type the name first." : undefined}
      onSubmit={async () => {
        await onConfirm();
        onClose();
      }}
    >
      <div className="grid gap-2">{children}</div>
      {typeName !== undefined && (
        <TextField
          name="confirm"
          label={`Type ${typeName} to confirm`}
          value={typed}
          onChange={setTyped}
          spellCheck={false}
          autoCapitalize="none"
        />
      )}
    </Form>
  );
}
