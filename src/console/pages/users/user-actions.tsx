import { useState } from "react";
import { type User, useChangeUser, useDeleteUser } from "../../api/queries/users.ts";
import { changedFields } from "../../lib/changed-fields.ts";
import { Button } from "../../ui/buttons/button.tsx";
import { Form } from "../../ui/forms/form.tsx";
import { ConfirmDialog } from "../../ui/overlays/confirm-dialog.tsx";
import { Dialog } from "../../ui/overlays/dialog.tsx";
import { showToast } from "../../ui/overlays/toast.tsx";
import { newPassword } from "./new-password.ts";
import type { ShownPassword } from "./password-dialog.tsx";
import { RoleField, UserLimits } from "./user-fields.tsx";

interface UserDialogProps {
  readonly user: User;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function ChangeUserDialog({ isOpen, ...props }: UserDialogProps) {
  return (
    <Dialog isOpen={isOpen} onClose={props.onClose} title={`Change user ${props.user.username}`}>
      <ChangeForm {...props} />
    </Dialog>
  );
}

function ChangeForm({ user, onClose }: Omit<UserDialogProps, "isOpen">) {
  // The user as it was when the form was opened: only what differs from it is sent.
  const [before] = useState({
    role: user.role,
    monthly_token_limit: user.monthly_token_limit,
    rpm_limit: user.rpm_limit,
  });
  const [{ role, ...limits }, setDraft] = useState(before);
  const change = useChangeUser(user.id);
  const changes = changedFields({ role, ...limits }, before);
  const isSame = Object.keys(changes).length === 0;
  return (
    <Form
      action="Save user"
      onCancel={onClose}
      disabledReason={isSame ? "Nothing is changed yet." : undefined}
      onSubmit={async () => {
        await change.mutateAsync(changes);
        onClose();
        showToast(`User ${user.username} is changed`);
      }}
    >
      <RoleField value={role} onChange={(next) => setDraft({ ...limits, role: next })} />
      <UserLimits value={limits} onChange={(next) => setDraft({ ...next, role })} />
    </Form>
  );
}

interface NewPasswordDialogProps extends UserDialogProps {
  readonly onPassword: (shown: ShownPassword) => void;
}

/** Gives a user a password that is made here and shown once. */
export function NewPasswordDialog({ user, isOpen, onClose, onPassword }: NewPasswordDialogProps) {
  const change = useChangeUser(user.id);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Reset the password of ${user.username}?`}
      action="Reset password"
      onConfirm={async () => {
        const password = newPassword();
        await change.mutateAsync({ password });
        onPassword({ username: user.username, password });
      }}
    >
      The user&apos;s sessions end at once. The new password is shown this once, and has to be
      changed at the next login.
    </ConfirmDialog>
  );
}

interface UserStateButtonProps {
  readonly user: User;
  readonly disabledReason: string | undefined;
}

export function UserStateButton({ user, disabledReason }: UserStateButtonProps) {
  const [isAsking, setAsking] = useState(false);
  const change = useChangeUser(user.id);
  const isActive = user.state === "active";
  const action = isActive ? "Disable user" : "Enable user";
  return (
    <>
      <Button disabledReason={disabledReason} onClick={() => setAsking(true)}>
        {action}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`${isActive ? "Disable" : "Enable"} user ${user.username}?`}
        action={action}
        onConfirm={async () => {
          await change.mutateAsync({ state: isActive ? "disabled" : "active" });
          showToast(`User ${user.username} is ${isActive ? "disabled" : "active again"}`);
        }}
      >
        {isActive
          ? "The user's sessions end, and their keys get 401 until the user is enabled again."
          : "The user can log in again, and their keys work again. The user counts for the license."}
      </ConfirmDialog>
    </>
  );
}

interface DeleteUserDialogProps extends UserDialogProps {
  readonly onDeleted: () => void;
}

export function DeleteUserDialog({ user, isOpen, onClose, onDeleted }: DeleteUserDialogProps) {
  const remove = useDeleteUser(user.id);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete user ${user.username}?`}
      action="Delete user"
      typeName={user.username}
      onConfirm={async () => {
        await remove.mutateAsync();
        onDeleted();
        showToast(`User ${user.username} is deleted`);
      }}
    >
      The user&apos;s sessions, API keys and BI keys are deleted, too; their clients get 401 at
      once. What was used stays counted.
    </ConfirmDialog>
  );
}
