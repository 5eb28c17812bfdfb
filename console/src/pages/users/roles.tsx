/** The roles of a user: shown, and changed in a dialog. */
import { useState } from 'react'
import { useMay } from '../../api/me.ts'
import type { BodyOf, ItemOf } from '../../api/operation-types.ts'
import { type GetResult, useChange, useList } from '../../api/query.ts'
import { Button, CancelButton } from '../../parts/button.tsx'
import { Card } from '../../parts/card.tsx'
import { CheckList } from '../../parts/check-list.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Link } from '../../parts/link.tsx'
import { ErrorNote, Note } from '../../parts/notes.tsx'
import { Text } from '../../parts/text.tsx'
import { useToast } from '../../parts/toast.tsx'
import { texts } from './texts.ts'

type User = BodyOf<'users.get'>

export const roleOptions = (roles: ItemOf<'roles.list'>[]) =>
  roles.map(({ name, description }) => ({ value: name, label: name, ...(description && { description }) }))

export function Roles({ user, read }: { user: User; read: GetResult<User> }) {
  const [isOpen, setOpen] = useState(false)
  const may = useMay()
  return (
    <Card
      title={texts.roles}
      actions={
        may('identity:user:update') &&
        may('identity:role:read') && (
          <Button size="small" icon="edit" onPress={() => setOpen(true)}>
            {texts.editRoles}
          </Button>
        )
      }
    >
      {user.roles.length === 0 ? (
        <p className="quiet">{texts.rolesEmpty}</p>
      ) : (
        <ul className="chips">
          {user.roles.map((role) => (
            <li key={role}>
              {may('identity:role:read') ? (
                <Link to={`/roles/${encodeURIComponent(role)}`}>
                  <Text value={role} max={60} />
                </Link>
              ) : (
                <Text value={role} max={60} />
              )}
            </li>
          ))}
        </ul>
      )}
      {isOpen && <RolesDialog user={user} read={read} onClose={() => setOpen(false)} />}
    </Card>
  )
}

function RolesDialog({ user, read, onClose }: { user: User; read: GetResult<User>; onClose(): void }) {
  const roles = useList('roles.list', { limit: 0 })
  const [chosen, setChosen] = useState(user.roles)
  // The roles before the choice of the user, with their ETag. The page may read the roles again later. The save still sends the older ETag,
  // so that the platform rejects the save if another caller has changed the roles meanwhile.
  const [base, setBase] = useState({ roles: user.roles, etag: read.etag })
  const [isConflict, setConflict] = useState(false)
  const change = useChange('users.roles.update')
  const toast = useToast()
  async function save() {
    const outcome = await change.run({ id: user.id, body: chosen }, { ifMatch: base.etag })
    if (outcome.kind === 'conflict') await merge()
    if (outcome.kind !== 'done') return
    toast(texts.rolesSaved)
    onClose()
  }
  /** Adds the changes of the other caller to the choice. */
  async function merge() {
    const { data, etag } = await read.reload()
    if (!data) return
    const added = chosen.filter((role) => !base.roles.includes(role))
    const kept = data.roles.filter((role) => chosen.includes(role) || !base.roles.includes(role))
    setChosen([...new Set([...kept, ...added])])
    setBase({ roles: data.roles, etag })
    setConflict(true)
  }
  const known = new Set(roles.items.map(({ name }) => name))
  return (
    <Dialog
      title={texts.editRoles}
      isOpen
      onClose={onClose}
      actions={
        <>
          <CancelButton onPress={onClose} />
          <Button look="primary" onPress={() => void save()} isBusy={change.isRunning}>
            {texts.save}
          </Button>
        </>
      }
    >
      {roles.problem && <ErrorNote problem={roles.problem} onRetry={roles.reload} />}
      <CheckList
        label={texts.rolesLabel}
        options={[
          ...roleOptions(roles.items),
          ...user.roles.filter((role) => !known.has(role)).map((role) => ({ value: role, label: role })),
        ]}
        value={chosen}
        onChange={setChosen}
        description={texts.rolesNote}
      />
      {isConflict && <Note tone="warn">{texts.rolesConflict}</Note>}
      {change.problem && <ErrorNote problem={change.problem} />}
    </Dialog>
  )
}
