import { useState } from "react";
import { type User, useCreateUser } from "../../api/queries/users.ts";
import { TextField } from "../../ui/forms/field.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import type { ShownPassword } from "./password-dialog.tsx";
import { NO_LIMITS, RoleField, UserLimits } from "./user-fields.tsx";

interface CreateDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onPassword: (shown: ShownPassword) => void;
}

export function CreateDialog({ isOpen, onClose, onPassword }: CreateDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="New user">
      <CreateForm onClose={onClose} onPassword={onPassword} />
    </Dialog>
  );
}

function CreateForm({ onClose, onPassword }: Omit<CreateDialogProps, "isOpen">) {
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<User["role"]>("user");
  const [limits, setLimits] = useState(NO_LIMITS);
  const create = useCreateUser();
  const submit = async () => {
    const given = password === "" ? {} : { password };
    const created = await create.mutateAsync({ username, role, ...limits, ...given });
    onClose();
    showToast(`User ${created.username} is created`);
    if (created.password !== undefined) {
      onPassword({ username: created.username, password: created.password });
    }
  };
  return (
    <Form action="Create user" onCancel={onClose} onSubmit={submit}>
      <TextField
        name="username"
        label="Name"
        hint="Letters, digits and . _ @ + -"
        autoCapitalize="none"
        spellCheck={false}
        value={username}
        onChange={setUsername}
      />
      <TextField
        name="password"
        label="First password"
        hint="Empty: one is generated and shown once."
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
      />
      <RoleField value={role} onChange={setRole} />
      <UserLimits value={limits} onChange={setLimits} />
    </Form>
  );
}
