module github.com/koan-go/koan

go 1.26.0

// What npm installs may come and go while packages are listed.
ignore node_modules

require (
	ariga.io/atlas v0.36.2-0.20250730182955-2c6300d0a3e1 // migrations: what ent uses, and the format of their files
	entgo.io/ent v0.14.6
	github.com/dop251/goja v0.0.0-20260917113740-793a2a65c13b // runs scripts
	github.com/evanw/esbuild v0.28.2 // modules, top-level await and TypeScript, which goja does not parse
	github.com/go-jose/go-jose/v4 v4.1.8 // the keys that sign them
	github.com/go-openapi/inflect v0.19.0 // names of entities in singular and plural: what ent uses
	github.com/google/uuid v1.6.0
	github.com/hashicorp/go-hclog v1.6.3 // go-plugin's logger, written to ours
	github.com/hashicorp/go-plugin v1.8.0
	github.com/invopop/jsonschema v0.14.0 // JSON Schema from the Go types of plugin functions
	github.com/jackc/pgx/v5 v5.12.0 // PostgreSQL's driver
	github.com/klauspost/compress v1.19.2 // gzip for pages; knows what not to pack
	github.com/makiuchi-d/gozxing v0.1.1 // decodes QR codes, in plugins/vision only; draws the codes of its test photos
	github.com/mark3labs/mcp-go v1.2.1
	github.com/mattn/go-isatty v0.0.24 // colour on terminals only
	github.com/mattn/go-sqlite3 v1.14.52
	github.com/minio/minio-go/v7 v7.4.1 // files in a bucket, in framework/internal/files/blob only: 3.5 MB of a binary of 90 (AWS's client is a third larger)
	github.com/modelcontextprotocol/go-sdk v1.8.0 // oauthex: the metadata and registration of OAuth as MCP has it, in plugins/upstream/internal/signin only
	github.com/nlnwa/whatwg-url v0.6.2 // URL in scripts, by the Standard
	github.com/pelletier/go-toml/v2 v2.4.3 // servers in Codex's file, and where tables stand in it, for edits that keep comments
	github.com/prometheus/client_golang v1.24.1 // serves /metrics
	github.com/rogpeppe/go-internal v1.16.0 // shows changes as a diff in cmd/koan; locks the files of sign-ins; runs the scripts of tests for the command line
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // validates inputs by their schema
	github.com/shopspring/decimal v1.6.0 // amounts of food in sample-pantrypal, prices in tests/shop
	github.com/spf13/cobra v1.10.2 // the commands
	github.com/spf13/pflag v1.0.10 // names the flag that was not found
	github.com/stretchr/testify v1.12.1
	github.com/tailscale/hujson v0.0.0-20260727124030-b80ff77dac4f // clients' files, which may have comments; edits keep them
	github.com/tiktoken-go/tokenizer v0.10.0 // counts tokens, in tests/tokens only
	go.opentelemetry.io/otel v1.47.0 // traces and metrics, in framework/telemetry only
	go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp v1.47.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0
	go.opentelemetry.io/otel/exporters/prometheus v0.69.0
	go.opentelemetry.io/otel/metric v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/sdk/metric v1.47.0
	go.opentelemetry.io/otel/trace v1.47.0
	go.opentelemetry.io/proto/otlp v1.11.0 // what a collector reads, in tests only
	go.yaml.in/yaml/v3 v3.0.6 // koan.yaml, with lines for its problems
	golang.org/x/image v0.47.0 // WebP, in plugins/vision and the demo; letters in test photos
	golang.org/x/mod v0.42.0 // go.mod of other projects, in cmd/koan only
	golang.org/x/net v0.61.0 // pages with recipes, in sample-pantrypal only
	golang.org/x/oauth2 v0.37.0 // PKCE and the token endpoint, in framework/internal/oauth and plugins/upstream/internal/signin only
	golang.org/x/sync v0.24.0 // one refresh of a token for all calls that need it
	golang.org/x/sys v0.49.0 // seccomp, rlimits, file locks
	golang.org/x/text v0.43.0 // jsonschema's messages; accents in names of food; plurals and languages of pages
	golang.org/x/tools v0.52.0 // entgen looks at an app's schema package
	google.golang.org/grpc v1.85.0 // go-plugin's transport
	google.golang.org/protobuf v1.36.12
	modernc.org/sqlite v1.61.1 // SQLite for builds without cgo, in framework/database/sqlitedriver only
)

require (
	github.com/agext/levenshtein v1.2.3 // indirect
	github.com/apparentlymart/go-textseg/v15 v15.0.0 // indirect
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/bits-and-blooms/bitset v1.20.0 // indirect
	github.com/bmatcuk/doublestar v1.3.4 // indirect
	github.com/buger/jsonparser v1.1.2 // indirect
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/dlclark/regexp2/v2 v2.5.2 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/fatih/color v1.19.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/go-sourcemap/sourcemap v2.1.3+incompatible // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/pprof v0.0.0-20261016150608-1facf8f91b50 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.30.0 // indirect
	github.com/hashicorp/hcl/v2 v2.18.1 // indirect
	github.com/hashicorp/yamux v0.1.2 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/klauspost/cpuid/v2 v2.4.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/mattn/go-colorable v0.1.15 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/mitchellh/go-wordwrap v1.0.1 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/oklog/run v1.1.0 // indirect
	github.com/pb33f/ordered-map/v2 v2.3.1 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/otlptranslator v1.0.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	github.com/zclconf/go-cty v1.14.4 // indirect
	github.com/zclconf/go-cty-yaml v1.1.0 // indirect
	github.com/zeebo/xxh3 v1.1.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.yaml.in/yaml/v4 v4.0.0-rc.2 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/xerrors v0.0.0-20200804184101-5ec99f83aff1 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	gopkg.in/ini.v1 v1.67.3 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
