import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.Utils;

/**
 * Says of each file of a directory, in the order of their names, which keys and values Kafka reads, references resolved
 * by its config providers; or that it refuses the file. A node gives its providers in the same way.
 */
public class ReadConfigs {
    public static void main(String[] arguments) throws IOException {
        File[] files = new File(arguments[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            System.out.println(file.getName() + " " + verdict(file));
        }
    }

    private static String verdict(File file) throws IOException {
        Properties given = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            given.load(in);
        }
        Map<String, Object> found = new HashMap<>();
        try {
            Map<String, Object> names = Utils.castToStringObjectMap(given);
            AbstractConfig config = new AbstractConfig(new ConfigDef(), given, names, false);
            config.originals().forEach(found::put);
        } catch (RuntimeException refusal) {
            return "refused";
        }
        TreeSet<String> pairs = new TreeSet<>();
        found.forEach((key, value) -> pairs.add(units(key) + "=" + units(((String) value).trim())));
        return String.join(";", pairs);
    }

    private static String units(String text) {
        StringBuilder hex = new StringBuilder();
        text.chars().forEach(unit -> hex.append(String.format("%04x", unit)));
        return hex.toString();
    }
}
