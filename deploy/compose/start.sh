#!/bin/sh
# In a container: writes the node's configuration, formats its volume at the first start, and becomes the node.
#   start.sh controller|agent NODE_ID [GRPC_PORT]
#   KRAFT_CLUSTER_ID, KRAFT_INITIAL_CONTROLLERS, KRAFT_BOOTSTRAP_CONTROLLER
set -eu
role=$1
node_id=$2
grpc_port=${3:-9094}
host=$(hostname)
data=${KRAFT_DATA:-/var/lib/kraft/data}
config=${TMPDIR:-/tmp}/node.properties

case $role in
  controller) roles=controller kafka=CONTROLLER:// ;;
  agent) roles=broker kafka= ;;
  *) echo "start.sh: $role is neither controller nor agent" >&2; exit 2 ;;
esac

cat > "$config" <<EOF
process.roles=$roles
node.id=$node_id
listeners=${kafka:+${kafka}0.0.0.0:9093,}GRPC://0.0.0.0:$grpc_port
advertised.listeners=${kafka:+$kafka$host:9093,}GRPC://$host:$grpc_port
controller.listener.names=CONTROLLER,GRPC
listener.security.protocol.map=CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT
controller.quorum.bootstrap.servers=$KRAFT_BOOTSTRAP_CONTROLLER
log.dirs=$data
http.listener=HTTP://0.0.0.0:9095
EOF

set -- storage format --ignore-formatted --config "$config" --cluster-id "$KRAFT_CLUSTER_ID"
if [ "$role" = controller ]; then
  set -- "$@" --initial-controllers "$KRAFT_INITIAL_CONTROLLERS"
fi
kraft "$@"
exec kraft "$role" start --config "$config"
