// For each line "PATTERN<TAB>CLIENT" of standard input, a line of JSON: what Kafka's controller says of an ACL's host, at
// a metadata.version with ranges and below, and whether Kafka's authorizer allows by that ACL a client at that address.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.server.authorizer.Action;

public final class AclHosts {
    private static final String AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizerData";

    public static void main(String[] words) throws Exception {
        Method validate = Class.forName("org.apache.kafka.controller.AclControlManager")
            .getDeclaredMethod("validateHostPattern", String.class, boolean.class);
        Method find = Class.forName(AUTHORIZER)
            .getDeclaredMethod("findResult", Action.class, Set.class, String.class, StandardAcl.class);
        validate.setAccessible(true);
        find.setAccessible(true);
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] parts = line.split("\t", -1);
            String client = InetAddress.getByName(parts[1]).getHostAddress();
            Map<String, Object> found = new LinkedHashMap<>();
            found.put("host", parts[0]);
            found.put("client", parts[1]);
            found.put("refused", refusal(validate, parts[0], true));
            found.put("refused_below", refusal(validate, parts[0], false));
            found.put("matches", matches(find, parts[0], client));
            System.out.println(mapper.writeValueAsString(found));
        }
    }

    private static String refusal(Method validate, String host, boolean hasRanges) throws Exception {
        try {
            validate.invoke(null, host, hasRanges);
            return null;
        } catch (InvocationTargetException error) {
            Throwable cause = error.getCause();
            return cause.getClass().getSimpleName() + ": " + cause.getMessage();
        }
    }

    private static boolean matches(Method find, String host, String client) throws Exception {
        KafkaPrincipal principal = new KafkaPrincipal("User", "alice");
        StandardAcl acl = new StandardAcl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:alice", host,
            AclOperation.READ, AclPermissionType.ALLOW);
        ResourcePattern pattern = new ResourcePattern(ResourceType.TOPIC, "t", PatternType.LITERAL);
        Action action = new Action(AclOperation.READ, pattern, 1, true, true);
        return find.invoke(null, action, Set.of(principal), client, acl) != null;
    }
}
