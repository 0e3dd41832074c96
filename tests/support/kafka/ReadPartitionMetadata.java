import java.io.File;
import java.util.Arrays;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** Says of each file of a directory, in the order of their names, which topic id Kafka reads from it, or that it refuses. */
public class ReadPartitionMetadata {
    public static void main(String[] arguments) {
        File[] files = new File(arguments[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            String verdict;
            try {
                verdict = new PartitionMetadataFile(file, new LogDirFailureChannel(1)).read().topicId().toString();
            } catch (RuntimeException error) {
                verdict = "refused";
            }
            System.out.println(file.getName() + " " + verdict);
        }
    }
}
