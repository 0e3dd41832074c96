module loadgen

go 1.24

require (
	github.com/go-zookeeper/zk v1.0.4
	github.com/twmb/franz-go/pkg/kmsg v1.11.2
	go.etcd.io/etcd/client/v3 v3.6.5
	google.golang.org/grpc v1.71.1
	google.golang.org/protobuf v1.36.5
)
