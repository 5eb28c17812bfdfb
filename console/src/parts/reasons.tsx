import { Link } from './link.tsx'
import { Text } from './text.tsx'
import { texts } from './texts.ts'

/** The reason of a permission: a role that has the scope, or a grant that gives it. */
export interface Reason {
  role?: string | undefined
  grantId?: string | undefined
  resource: string
  scope: string
  byCreation?: boolean | undefined
}

/**
 * Shows each reason in a line: `Role operator on tenant-system`, or `Created application-meters` for the creator of a resource, who has
 * every scope on it.
 */
export const Reasons = ({ reasons, scope }: { reasons: readonly Reason[]; scope: string }) => (
  <ul className="reasons">
    {reasons.map((reason) => (
      <li key={`${reason.role}/${reason.grantId}/${reason.resource}/${reason.scope}`}>
        {reason.role === undefined ? (
          reason.byCreation ? (
            texts.byCreation
          ) : (
            texts.ownGrant
          )
        ) : (
          <>
            {reason.grantId === undefined ? texts.role : texts.grantToRole}{' '}
            <Link to={`/roles/${encodeURIComponent(reason.role)}`}>
              <Text value={reason.role} max={60} />
            </Link>
          </>
        )}{' '}
        <span className="quiet">
          {!reason.byCreation && `${texts.onResource} `}
          <Text value={reason.resource} max={80} mono />
          {reason.scope !== scope && !reason.byCreation && (
            <>
              {' '}
              {texts.asScope} <Text value={reason.scope} max={60} mono />
            </>
          )}
        </span>
      </li>
    ))}
  </ul>
)
