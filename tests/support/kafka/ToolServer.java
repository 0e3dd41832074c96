import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command-line tools one after another in one JVM: a call costs milliseconds instead of a start of Java.
 *
 * <p>A request on standard input is an int count and that many UTF strings: a main class and its arguments; then what the
 * tool reads from its own standard input, as an int length and its bytes. The answer on standard output is an int exit
 * status, then standard output and standard error, each as an int length and its bytes.
 */
public final class ToolServer {
    private static final long HOOK_MS = 20_000;

    /** What a tool's call of exit becomes. */
    private static final class Exited extends Error {
        final int status;

        Exited(int status) {
            super("exit", null, false, false);
            this.status = status;
        }
    }

    /** A stream whose bytes are taken away after each call; tools may keep a reference to it for ever. */
    private static final class Captured extends OutputStream {
        private ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            bytes.write(one);
        }

        @Override
        public synchronized void write(byte[] many, int from, int length) {
            bytes.write(many, from, length);
        }

        synchronized byte[] take() {
            byte[] taken = bytes.toByteArray();
            bytes = new ByteArrayOutputStream();
            return taken;
        }
    }

    /** Stays open: a tool that closes its output, as the metadata shell does, would silence all that come after it. */
    private static final class Unclosable extends PrintStream {
        Unclosable(OutputStream to) {
            super(to, true);
        }

        @Override
        public void close() {
            flush();
        }
    }

    /** The console consumer's waits for ever where its end failed, as it would in a JVM of its own. */
    private static void atTheEnd(Runnable hook) {
        Thread ending = new Thread(hook, "shutdown-hook");
        ending.setDaemon(true);
        ending.start();
        try {
            ending.join(HOOK_MS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        if (ending.isAlive()) {
            System.err.println("a shutdown hook has not ended in " + HOOK_MS + " ms");
        }
    }

    private static int call(String main, String[] arguments) throws ReflectiveOperationException {
        int[] first = {Integer.MIN_VALUE};
        Exit.Procedure procedure = (status, message) -> {
            if (first[0] == Integer.MIN_VALUE) {
                first[0] = status;
            }
            throw new Exited(status);
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        List<Runnable> atTheEnd = new ArrayList<>();
        Exit.setShutdownHookAdder((name, hook) -> atTheEnd.add(hook));
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Exited)) {
                thrown.getCause().printStackTrace();
                return 1;
            }
        } finally {
            for (Runnable hook : atTheEnd) {
                atTheEnd(hook);
            }
        }
        return first[0] == Integer.MIN_VALUE ? 0 : first[0];
    }

    public static void main(String[] ignored) throws Exception {
        DataInputStream requests = new DataInputStream(System.in);
        DataOutputStream answers = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        Captured[] streams = {new Captured(), new Captured()};
        System.setOut(new Unclosable(streams[0]));
        System.setErr(new Unclosable(streams[1]));
        while (true) {
            int count;
            try {
                count = requests.readInt();
            } catch (EOFException noMore) {
                Runtime.getRuntime().halt(0);
                return;
            }
            String main = requests.readUTF();
            String[] arguments = new String[count - 1];
            for (int i = 0; i < arguments.length; i++) {
                arguments[i] = requests.readUTF();
            }
            System.setIn(new ByteArrayInputStream(requests.readNBytes(requests.readInt())));
            int status = call(main, arguments);
            System.out.flush();
            System.err.flush();
            answers.writeInt(status);
            for (Captured stream : streams) {
                byte[] taken = stream.take();
                answers.writeInt(taken.length);
                answers.write(taken);
            }
            answers.flush();
        }
    }
}
