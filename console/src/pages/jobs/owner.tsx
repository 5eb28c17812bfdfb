import type { BodyOf } from '../../api/operation-types.ts'
import { Link } from '../../parts/link.tsx'
import { Text } from '../../parts/text.tsx'
import { texts } from './texts.ts'

/** The creator of a job: the name of a user, with a link to the user; for OAuth clients and API keys, only the kind is shown. */
export function Owner({ owner: { type, id, name } }: { owner: BodyOf<'jobs.get'>['owner'] }) {
  if (type === 'system') return texts.system
  if (type === 'user' && name !== undefined)
    return (
      <Link to={`/users/${encodeURIComponent(id)}`}>
        <Text value={name} max={60} />
      </Link>
    )
  return (
    <>
      <span className="quiet">{name === undefined ? (texts.owners[type] ?? type) : texts.keyOf}</span>{' '}
      <Text value={name ?? id} max={60} />
    </>
  )
}
