package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The BOM is published without its parent, so it contains the versions itself: they must be those of this build. */
@Tag("quick")
class BomTest {

    private static final Pattern MANAGED = Pattern.compile(
            "<dependency>\\s*(?:<!--.*?-->\\s*)?<groupId>([^<]+)</groupId>\\s*"
                    + "<artifactId>([^<]+)</artifactId>\\s*<version>([^<]+)</version>",
            Pattern.DOTALL);
    private static final Pattern PROPERTY = Pattern.compile("<([\\w.-]+)>([^<>]+)</\\1>");

    private static Map<String, String> managed(String pom) {
        Map<String, String> versions = new HashMap<>();
        Matcher matcher = MANAGED.matcher(pom);
        while (matcher.find()) {
            versions.put(matcher.group(1) + ":" + matcher.group(2), matcher.group(3));
        }
        return versions;
    }

    @Test
    void itSaysTheVersionsOfThisBuild() {
        String root = Module.read(Module.root().resolve("pom.xml"));
        Map<String, String> ours = managed(root);
        Map<String, String> properties = new HashMap<>();
        Matcher matcher = PROPERTY.matcher(root.substring(root.indexOf("<properties>"), root.indexOf("</properties>")));
        while (matcher.find()) {
            properties.put("${" + matcher.group(1) + "}", matcher.group(2));
        }
        List<String> other = new ArrayList<>();
        Map<String, String> bom = managed(Module.read(Module.root().resolve("leasehold-bom/pom.xml")));
        bom.forEach((artefact, version) -> {
            String said = ours.getOrDefault(artefact, "none");
            if (!version.equals(properties.getOrDefault(said, said))) {
                other.add(artefact + " " + version + ", and " + said + " in the root pom.xml");
            }
        });
        assertThat(other).isEmpty();
        assertThat(bom).containsKeys("io.leasehold:leasehold-redis", "io.netty:netty-bom", "io.grpc:grpc-netty");
        assertThat(bom.entrySet())
                .as("only its own version may be a property")
                .allMatch(entry ->
                        !entry.getValue().contains("${") || entry.getKey().startsWith("io.leasehold:"));
    }
}
