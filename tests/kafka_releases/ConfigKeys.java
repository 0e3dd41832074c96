import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.AbstractKafkaConfig;

/** Prints a line for each key of a node's configuration: its name, its type, and its default unless that is none. */
public final class ConfigKeys {
    private ConfigKeys() {
    }

    public static void main(String[] arguments) {
        Map<String, ConfigDef.ConfigKey> keys = new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys());
        keys.forEach((name, key) -> {
            boolean isGiven = key.hasDefault() && key.defaultValue != null;
            System.out.println(name + "\t" + key.type + (isGiven ? "\t" + text(key.defaultValue) : ""));
        });
    }

    private static String text(Object value) {
        if (value instanceof List) {
            return ((List<?>) value).stream().map(String::valueOf).collect(Collectors.joining(","));
        }
        return value instanceof Class ? ((Class<?>) value).getName() : String.valueOf(value);
    }
}
