import { useSession } from '../api/client.ts'
import { Icon } from '../parts/icons.tsx'
import { Text } from '../parts/text.tsx'
import { texts } from './texts.ts'

/** The name of the product, with the tenant. */
export function Brand() {
  const { session } = useSession()
  return (
    <div className="brand">
      <Icon name="waypost" size={22} />
      <span className="brand-texts">
        {texts.product}
        <span className="brand-tenant">
          <Text value={session.tenant} max={40} />
        </span>
      </span>
    </div>
  )
}
