import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Properties;
import java.util.TreeSet;

/** Says of each file of a directory, in the order of their names, which keys and values Java reads, or that it refuses. */
public class ReadProperties {
    public static void main(String[] arguments) throws IOException {
        File[] files = new File(arguments[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            System.out.println(file.getName() + " " + verdict(file));
        }
    }

    private static String verdict(File file) throws IOException {
        Properties found = new Properties();
        try (FileInputStream in = new FileInputStream(file)) {
            found.load(in);
        } catch (IllegalArgumentException error) {
            return "refused";
        }
        TreeSet<String> pairs = new TreeSet<>();
        found.remove(""); // a lone backslash at the file's end overwrites it
        found.forEach((key, value) -> pairs.add(units((String) key) + "=" + units((String) value)));
        return String.join(";", pairs);
    }

    private static String units(String text) {
        StringBuilder hex = new StringBuilder();
        text.chars().forEach(unit -> hex.append(String.format("%04x", unit)));
        return hex.toString();
    }
}
