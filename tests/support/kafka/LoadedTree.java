import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.image.loader.MetadataLoader;
import org.apache.kafka.server.fault.LoggingFaultHandler;
import org.apache.kafka.shell.MetadataShell;
import org.apache.kafka.shell.command.Commands;
import org.apache.kafka.shell.state.MetadataShellPublisher;
import org.apache.kafka.shell.state.MetadataShellState;

/**
 * The metadata shell's {@code tree /}, once its image ends at a given offset.
 *
 * <p>The shell's own main prints as soon as it has read anything at all, of a long log not even its beginning.
 */
public final class LoadedTree {
    private static final long PATIENCE_MS = 60_000;

    public static void main(String[] arguments) throws Exception {
        String reached = "offset " + arguments[1] + ",";
        MetadataShell shell = new MetadataShell(arguments[0], new LoggingFaultHandler("shell", () -> {}));
        Method read = MetadataShell.class.getDeclaredMethod("initializeWithSnapshotFileReader");
        read.setAccessible(true);
        read.invoke(shell);
        MetadataShellState state = (MetadataShellState) field(shell, "state");
        MetadataLoader loader = (MetadataLoader) field(shell, "loader");
        loader.installPublishers(List.of((MetadataShellPublisher) field(shell, "publisher"))).get();
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!run(state, "cat", "/image/provenance").contains(reached)) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("not loaded: " + run(state, "cat", "/image/provenance"));
            }
            Thread.sleep(5);
        }
        System.out.print(run(state, "tree", "/"));
        shell.close();
    }

    private static Object field(MetadataShell shell, String name) throws ReflectiveOperationException {
        Field field = MetadataShell.class.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(shell);
    }

    private static String run(MetadataShellState state, String... command) throws Exception {
        StringWriter text = new StringWriter();
        PrintWriter writer = new PrintWriter(text);
        new Commands(false).parseCommand(List.of(command)).run(Optional.empty(), writer, state);
        writer.flush();
        return text.toString();
    }
}
