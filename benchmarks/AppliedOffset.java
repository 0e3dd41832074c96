import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Reads "PORT" or "PORT OFFSET" a line; answers with the last offset that the controller with this JMX port has
 * applied to its memory, once that is at least OFFSET; -1 when a PORT alone does not answer. */
public final class AppliedOffset {
    private static final long EVERY_MS = 10;

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.trim().split(" ");
            long wanted = words.length > 1 ? Long.parseLong(words[1]) : -1;
            long found = applied(words[0]);
            while (found < wanted) {
                Thread.sleep(EVERY_MS);
                found = applied(words[0]);
            }
            System.out.println(found);
        }
    }

    private static final Map<String, MBeanServerConnection> CONNECTIONS = new HashMap<>();

    private static long applied(String port) {
        try {
            MBeanServerConnection connection = CONNECTIONS.get(port);
            if (connection == null) {
                JMXServiceURL at = new JMXServiceURL(
                    "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + port + "/jmxrmi");
                connection = JMXConnectorFactory.connect(at).getMBeanServerConnection();
                CONNECTIONS.put(port, connection);
            }
            ObjectName name = new ObjectName("kafka.controller:type=KafkaController,name=LastAppliedRecordOffset");
            return ((Number) connection.getAttribute(name, "Value")).longValue();
        } catch (Exception e) { // not there yet, or not any more
            CONNECTIONS.remove(port);
            return -1;
        }
    }
}
