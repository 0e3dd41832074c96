module loadgen

go 1.24

require (
	go.etcd.io/etcd/client/v3 v3.6.5
	google.golang.org/grpc v1.71.1
	google.golang.org/protobuf v1.36.5
)
