/** Shapes that application, device, account and gateway integrations share. */
import { DateTime, JsonObject, Name, SerialId, Text, Type } from '../../../kernel/schema.ts'

export const Status = (description: string) => Type.Enum(['ACTIVE', 'SUSPENDED'], { description })

export const statusBody = Type.Object(
  {
    status: Status(
      'New status: ACTIVE resumes the integration, SUSPENDED suspends it. Setting the present status changes nothing.',
    ),
  },
  { title: 'IntegrationStatus', description: 'The new status of an integration.' },
)
/** Optional in queries. Without a status, only active objects are listed. */
export const statusQuery = Type.Optional(
  Type.Enum(['ACTIVE', 'SUSPENDED'], {
    description: 'Lists the objects with this status. Default: ACTIVE.',
    default: 'ACTIVE',
  }),
)

export const poolIds = Type.Array(Name({ description: 'Id of a pool.' }), {
  maxItems: 100,
  description:
    'Ids of pools. The platform passes them to the endpoints of the devices or gateways of the integration. Default: none.',
})

export const nameField = Name({ description: 'Name for people.' })
export const descriptionField = Text({ maxLength: 4000, description: 'Description for people.' })

/** The username is part of MQTT topics and of paths. */
const netUsername = Name({
  pattern: '^[^+#/\\s\\u0000-\\u001f\\u007f]+$',
  description:
    'User name at the network: for an application `<network application id>@<network tenant>`. Without `/`, `+`, `#` and spaces.',
})
const netApiKeyId = Type.String({
  minLength: 1,
  maxLength: 4096,
  pattern: '^[!-~]+$',
  description: 'API key of the network. It is encrypted at rest and never returned.',
})
const host = (serverName: string, more = '') =>
  Name({
    description: `${serverName}: \`host\`, \`host:port\` or a URL without a path. Without a scheme, https and port 443 are used. The API returns the text unchanged.${more}`,
  })
const otherHost = (serverName: string) => Type.Optional(host(serverName, ' Default: the identity server.'))

export const connectionFields = {
  netUsername,
  netIdentityServerHost: host('Identity server of the network'),
  netNetworkServerHost: otherHost('Network server'),
  netJoinServerHost: otherHost('Join server'),
  netApplicationServerHost: otherHost('Application server'),
  netPlainMqttServerUrl: Type.Optional(
    Name({
      description:
        'MQTT server of the network: `mqtt://host[:1883]`, `mqtts://host[:8883]`, `tcp://…`, `ssl://…` or `host:port`. The API returns the text unchanged.',
    }),
  ),
  netMqttIntegrationEnabled: Type.Boolean({
    description:
      'True when a node opens an MQTT session with the network. If false, the URL is not used. Default: true.',
  }),
  name: nameField,
  description: Type.Optional(descriptionField),
}

/** Fields of a body that creates an integration. */
export const newConnectionFields = {
  ...connectionFields,
  netApiKeyId,
  netMqttIntegrationEnabled: Type.Optional(connectionFields.netMqttIntegrationEnabled),
  poolIds: Type.Optional(poolIds),
}

export const integrationPatch = (title: string) =>
  Type.Object(
    {
      netApiKeyId: Type.Optional(netApiKeyId),
      name: Type.Optional(nameField),
      description: Type.Optional(descriptionField),
    },
    { title, description: 'The fields to change; all other fields keep their values.' },
  )

export const endpointFields = {
  endpointMetadata: Type.Optional(
    JsonObject({
      description: 'Metadata of the endpoint that is registered together with the device or gateway. Default: none.',
    }),
  ),
  endpointRelations: Type.Optional(
    Type.Array(
      Type.Union(
        [
          Type.Object(
            {
              type: Type.Literal('contains', { description: 'Kind of the relation.' }),
              from: Name({ description: 'Id of the endpoint that contains the new endpoint.' }),
            },
            {
              title: 'RelationFrom',
              description: 'Another endpoint contains the new endpoint.',
              additionalProperties: true,
            },
          ),
          Type.Object(
            {
              type: Type.Literal('contains', { description: 'Kind of the relation.' }),
              to: Name({ description: 'Id of the endpoint that the new endpoint contains.' }),
            },
            {
              title: 'RelationTo',
              description: 'The new endpoint contains another endpoint.',
              additionalProperties: true,
            },
          ),
        ],
        { description: 'A relation with an existing endpoint.' },
      ),
      {
        maxItems: 100,
        description: 'Relations of the endpoint that is registered together with the device or gateway. Default: none.',
      },
    ),
  ),
}

export const id = (noun: string) => SerialId({ description: `Id of the ${noun}.` })
/** An id in a path. For an integer that cannot be an id, the response is 404, as for an unknown id. */
export const pathId = (noun: string) => Type.Integer({ description: `Id of the ${noun}.` })
export const endpointId = Type.String({ description: 'Id of the endpoint that represents the device or gateway.' })
export const appVersionName = Name({
  description: 'Application version of the endpoints that are registered together with devices or gateways.',
})
export const date = DateTime
