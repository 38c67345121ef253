/**
 * The fields of Compose and of Kubernetes that the files of config/container use, and no others, as their references have
 * them (Compose Specification; Kubernetes v1, apps/v1 and policy/v1): a misspelt one is refused. Who needs another field
 * adds it here as the reference says it.
 */
type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: 'string', minLength: 1 }
const yes: Schema = { type: 'boolean' }
const count: Schema = { type: 'integer', minimum: 0 }
const list = (items: Schema): Schema => ({ type: 'array', items, minItems: 1 })
const map = (values: Schema): Schema => ({ type: 'object', additionalProperties: values })
const only = (...values: readonly unknown[]): Schema => ({ enum: values })
/** An object with these fields alone; all but `optional` are needed. */
const fields = (needed: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  properties: { ...needed, ...optional },
  required: Object.keys(needed),
  additionalProperties: false,
})

const seconds: Schema = { type: 'string', pattern: '^\\d+s$' }
const name: Schema = { type: 'string', pattern: '^[a-z0-9][a-z0-9._-]*$' }

const service = fields(
  { image: text, restart: only('unless-stopped') },
  {
    environment: map({ type: 'string' }),
    secrets: list(name),
    volumes: list({ type: 'string', pattern: '^(\\./)?[a-z0-9.-]+:/[^:]+(:ro)?$' }),
    networks: {
      anyOf: [
        list(name),
        map(fields({}, { aliases: list(name), ipv4_address: { type: 'string', format: 'ipv4' } })),
      ],
    },
    network_mode: only('none'),
    ports: list({ type: 'string', pattern: '^\\d+:\\d+$' }),
    sysctls: map(text),
    depends_on: map(fields({ condition: only('service_healthy') })),
    healthcheck: fields({ test: list(text), interval: seconds, timeout: seconds, retries: count }),
    read_only: yes,
    cap_drop: list(only('ALL')),
    security_opt: list(only('no-new-privileges:true')),
    shm_size: text,
    stop_grace_period: seconds,
  },
)

export const compose: Schema = {
  ...fields(
    {
      name,
      services: map(service),
      networks: map(fields({ ipam: fields({ config: list(fields({ subnet: text })) }) })),
      volumes: map(fields({})),
      secrets: map(fields({ file: { type: 'string', pattern: '^\\./secrets/' } })),
    },
    { 'x-postern': { type: 'object' } },
  ),
}

const labels = map(text)
const about = fields({ name }, { labels })
/** 15 characters of a name of a port, RFC 6335. */
const portName: Schema = { type: 'string', pattern: '^[a-z][a-z0-9-]{0,14}$' }
const port: Schema = { type: 'integer', minimum: 1, maximum: 65_535 }
const quantity: Schema = { type: 'string', pattern: '^\\d+(m|Mi|Gi)$' }

const probe = fields(
  { exec: fields({ command: list(text) }), periodSeconds: count, timeoutSeconds: count },
  { failureThreshold: count },
)
const container = fields({
  name,
  image: text,
  env: list(fields({ name: { type: 'string', pattern: '^[A-Z0-9_]+$' }, value: { type: 'string' } })),
  ports: list(fields({ name: portName, containerPort: port })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  resources: fields({ requests: map(quantity), limits: map(quantity) }),
  securityContext: fields({
    allowPrivilegeEscalation: only(false),
    readOnlyRootFilesystem: only(true),
    capabilities: fields({ drop: list(only('ALL')) }),
  }),
  volumeMounts: list(fields({ name, mountPath: text }, { readOnly: yes })),
})
const pod = fields(
  {
    automountServiceAccountToken: only(false),
    enableServiceLinks: only(false),
    terminationGracePeriodSeconds: count,
    securityContext: fields({
      runAsNonRoot: only(true),
      runAsUser: count,
      runAsGroup: count,
      fsGroup: count,
      fsGroupChangePolicy: only('OnRootMismatch', 'Always'),
      seccompProfile: fields({ type: only('RuntimeDefault') }),
    }),
    containers: list(container),
    volumes: list(fields({ name, secret: fields({ secretName: name, defaultMode: count }) })),
  },
  {
    topologySpreadConstraints: list(
      fields({
        maxSkew: count,
        topologyKey: text,
        whenUnsatisfiable: only('ScheduleAnyway', 'DoNotSchedule'),
        labelSelector: fields({ matchLabels: labels }),
      }),
    ),
  },
)
const claim = fields({
  metadata: about,
  spec: fields({
    accessModes: list(only('ReadWriteOnce')),
    resources: fields({ requests: fields({ storage: quantity }) }),
  }),
})
const kind = (apiVersion: string, kind: string, spec: Schema): Schema =>
  fields({ apiVersion: only(apiVersion), kind: only(kind), metadata: about, spec })

/** By kind. */
export const kubernetes: Readonly<Record<string, Schema>> = {
  Service: kind(
    'v1',
    'Service',
    fields(
      {
        selector: labels,
        ports: list(fields({ name: portName, port, targetPort: { anyOf: [portName, port] } })),
      },
      {
        type: only('LoadBalancer'),
        externalTrafficPolicy: only('Local', 'Cluster'),
        clusterIP: only('None'),
      },
    ),
  ),
  PodDisruptionBudget: kind(
    'policy/v1',
    'PodDisruptionBudget',
    fields({ maxUnavailable: count, selector: fields({ matchLabels: labels }) }),
  ),
  StatefulSet: kind(
    'apps/v1',
    'StatefulSet',
    fields({
      serviceName: name,
      replicas: count,
      selector: fields({ matchLabels: labels }),
      template: fields({ metadata: fields({ labels }), spec: pod }),
      volumeClaimTemplates: list(claim),
    }),
  ),
}
