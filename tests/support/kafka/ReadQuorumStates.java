import java.io.File;
import java.util.Arrays;
import org.apache.kafka.raft.FileQuorumStateStore;

/** Says of each file of a directory, in the order of their names, whether Kafka reads it as a quorum-state. */
public class ReadQuorumStates {
    public static void main(String[] arguments) {
        File[] files = new File(arguments[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            String verdict = "read";
            try {
                new FileQuorumStateStore(file).readElectionState();
            } catch (RuntimeException error) {
                verdict = "refused";
            }
            System.out.println(file.getName() + " " + verdict);
        }
    }
}
