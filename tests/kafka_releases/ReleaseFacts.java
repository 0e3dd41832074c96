import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Prints what only the classes of a Kafka release know: a line for each value, with four columns, which are area, name,
 * attribute and value. Arguments: the jars in which main classes are looked for.
 *
 * <p>Everything is found by name at run time, so that it compiles without Kafka. A class that has moved gets its new name
 * beside the old one here; without it the program ends with status 2.
 */
public final class ReleaseFacts {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final String COMMON = "org.apache.kafka.server.common.";

    private ReleaseFacts() {
    }

    private static final class MovedException extends Exception {
        private static final long serialVersionUID = 1L;

        MovedException(String message) {
            super(message);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try {
            levels();
            features();
            errors();
            controlTypes();
            configs("broker config", member(List.of("org.apache.kafka.server.config.AbstractKafkaConfig"), "CONFIG_DEF"),
                Map.of());
            configs("topic config", member(List.of("org.apache.kafka.storage.internals.log.LogConfig"), "configDefCopy"),
                (Map<?, ?>) member(List.of("org.apache.kafka.server.config.ServerTopicConfigSynonyms"),
                    "ALL_TOPIC_CONFIG_SYNONYMS"));
            groupConfigs();
            configs("client metrics config",
                member(List.of("org.apache.kafka.server.metrics.ClientMetricsConfigs"), "configDef"), Map.of());
            for (String jar : arguments) {
                mainClasses(jar);
            }
        } catch (MovedException moved) {
            System.err.println(moved.getMessage());
            OUT.flush();
            System.exit(2);
        }
        OUT.flush();
    }

    private static void say(String area, Object name, String attribute, Object value) {
        OUT.println(area + "\t" + clean(name) + "\t" + attribute + "\t" + clean(value));
    }

    private static String clean(Object value) {
        return String.valueOf(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }

    private static Class<?> held(List<String> names) throws MovedException {
        for (String name : names) {
            try {
                return Class.forName(name);
            } catch (ClassNotFoundException absent) {
                // the next name
            }
        }
        throw new MovedException("the release has none of " + names);
    }

    /** The value of a static field, or of a static method without arguments, of the first of these classes. */
    private static Object member(List<String> classes, String name) throws Exception {
        Class<?> holder = held(classes);
        try {
            Field field = holder.getField(name);
            return field.get(null);
        } catch (NoSuchFieldException absent) {
            try {
                return holder.getMethod(name).invoke(null);
            } catch (NoSuchMethodException none) {
                throw new MovedException(holder.getName() + " has no " + name);
            }
        }
    }

    private static Object call(Object on, String method) throws Exception {
        Class<?> known = on.getClass();
        while (known != null) {
            for (Method each : known.getDeclaredMethods()) {
                if (each.getName().equals(method) && each.getParameterCount() == 0 && !Modifier.isStatic(each.getModifiers())) {
                    each.setAccessible(true);
                    return each.invoke(on);
                }
            }
            known = known.getSuperclass();
        }
        throw new MovedException(on.getClass().getName() + " has no method " + method);
    }

    private static Object field(Object of, String name) throws Exception {
        try {
            return of.getClass().getField(name).get(of);
        } catch (NoSuchFieldException absent) {
            throw new MovedException(of.getClass().getName() + " has no field " + name);
        }
    }

    private static void levels() throws Exception {
        Class<?> versions = held(List.of(COMMON + "MetadataVersion"));
        for (Object version : versions.getEnumConstants()) {
            say("metadata.version", call(version, "featureLevel"), "name", call(version, "version"));
            say("metadata.version", call(version, "featureLevel"), "changes records", call(version, "didMetadataChange"));
            say("metadata.version", call(version, "featureLevel"), "production", call(version, "isProduction"));
        }
        for (Method method : versions.getMethods()) {
            if (method.getDeclaringClass() != versions || method.getParameterCount() != 0
                || Modifier.isStatic(method.getModifiers())) {
                continue;
            }
            String name = method.getName();
            if (method.getReturnType() == boolean.class && name.startsWith("is") && !name.equals("isProduction")) {
                say("what a metadata.version allows", name, "levels", changes(versions, method));
            } else if (method.getReturnType() == short.class && name.endsWith("Version")) {
                say("version of a record at each metadata.version", name, "versions", changes(versions, method));
            }
        }
    }

    /** What the method gives at the lowest level, and at each level at which it gives something else than below. */
    private static String changes(Class<?> versions, Method method) throws Exception {
        StringBuilder told = new StringBuilder();
        Object before = null;
        for (Object version : versions.getEnumConstants()) {
            Object now = at(method, version);
            if (!now.equals(before)) {
                told.append(told.length() == 0 ? "" : ", ").append(now).append(" from ").append(call(version, "featureLevel"));
            }
            before = now;
        }
        return told.toString();
    }

    private static Object at(Method method, Object version) throws Exception {
        try {
            return method.invoke(version);
        } catch (InvocationTargetException refused) {
            return "none";
        }
    }

    private static void features() throws Exception {
        for (Object feature : held(List.of(COMMON + "Feature")).getEnumConstants()) {
            String name = (String) call(feature, "featureName");
            short newest = (Short) call(feature, "latestProduction");
            for (Object level : (Object[]) call(feature, "featureVersions")) {
                short number = (Short) call(level, "featureLevel");
                String row = name + " " + number;
                say("feature level", row, "production", number <= newest);
                say("feature level", row, "default since", call(call(level, "bootstrapMetadataVersion"), "featureLevel"));
                say("feature level", row, "needs", new TreeMap<Object, Object>((Map<?, ?>) call(level, "dependencies")));
            }
        }
    }

    private static void errors() throws Exception {
        for (Object error : held(List.of("org.apache.kafka.common.protocol.Errors")).getEnumConstants()) {
            say("error code", call(error, "name"), "code", call(error, "code"));
        }
    }

    private static void controlTypes() throws Exception {
        Class<?> types = held(List.of("org.apache.kafka.common.record.internal.ControlRecordType",
            "org.apache.kafka.common.record.ControlRecordType"));
        for (Object type : types.getEnumConstants()) {
            say("control record type", call(type, "type"), "name", call(type, "name"));
        }
    }

    private static void groupConfigs() throws Exception {
        List<String> holder = List.of("org.apache.kafka.coordinator.group.GroupConfig");
        Object definition;
        try {
            definition = member(holder, "CONFIG_DEF");
        } catch (MovedException older) {
            definition = member(holder, "configDef");
        }
        Object synonyms;
        try {
            synonyms = member(holder, "ALL_GROUP_CONFIG_SYNONYMS");
        } catch (MovedException older) {
            synonyms = Map.of();
        }
        configs("group config", definition, (Map<?, ?>) synonyms);
    }

    private static void configs(String area, Object definition, Map<?, ?> synonyms) throws Exception {
        for (Map.Entry<?, ?> each : ((Map<?, ?>) call(definition, "configKeys")).entrySet()) {
            Object key = each.getValue();
            say(area, each.getKey(), "type", field(key, "type"));
            Object standard = field(key, "defaultValue");
            boolean isGiven = (Boolean) call(key, "hasDefault");
            say(area, each.getKey(), "default", isGiven ? text(standard) : "(must be set)");
            String values = validator(field(key, "validator"));
            if (!values.isEmpty()) {
                say(area, each.getKey(), "values", values);
            }
            say(area, each.getKey(), "importance", field(key, "importance"));
            say(area, each.getKey(), "internal", field(key, "internalConfig"));
            if (synonyms.containsKey(each.getKey())) {
                say(area, each.getKey(), "synonyms", names(synonyms.get(each.getKey())));
            }
        }
    }

    private static String text(Object value) {
        if (value instanceof List) {
            StringBuilder joined = new StringBuilder();
            for (Object item : (List<?>) value) {
                joined.append(joined.length() == 0 ? "" : ",").append(item);
            }
            return joined.toString();
        }
        if (value instanceof Class) {
            return ((Class<?>) value).getName();
        }
        return String.valueOf(value);
    }

    /** Some validators have no text of their own, but their class and a number that differs from run to run. */
    private static String validator(Object validator) {
        String shown = validator == null ? "" : String.valueOf(validator);
        int at = shown.indexOf('@');
        return at < 0 || shown.contains(" ") ? shown.replaceAll("\\$\\$Lambda[^,\\]]*", "(code)") : "(code)";
    }

    private static String names(Object synonyms) throws Exception {
        if (synonyms instanceof Optional) {
            return ((Optional<?>) synonyms).map(String::valueOf).orElse("");
        }
        StringBuilder joined = new StringBuilder();
        for (Object synonym : (List<?>) synonyms) {
            joined.append(joined.length() == 0 ? "" : ",").append(call(synonym, "name"));
        }
        return joined.toString();
    }

    private static void mainClasses(String jar) throws Exception {
        try (JarFile file = new JarFile(new File(jar))) {
            for (Enumeration<JarEntry> entries = file.entries(); entries.hasMoreElements();) {
                String name = entries.nextElement().getName();
                if (!name.endsWith(".class") || name.contains("$")) {
                    continue;
                }
                name = name.substring(0, name.length() - ".class".length()).replace('/', '.');
                try {
                    Class.forName(name, false, ReleaseFacts.class.getClassLoader()).getMethod("main", String[].class);
                    say("main class", name, "jar", new File(jar).getName().replaceAll("-[0-9][0-9.]*\\.jar$", ""));
                } catch (NoSuchMethodException | LinkageError none) {
                    // no program, or needs what is not here
                }
            }
        }
    }
}
