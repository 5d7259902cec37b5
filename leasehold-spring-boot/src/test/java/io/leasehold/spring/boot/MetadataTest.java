package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.ClassPathResource;

/** Tests that the metadata for editors matches the existing properties. */
@Tag("quick")
class MetadataTest {

    @Test
    void namesEveryPropertyAndNoOther() throws IOException {
        Set<String> described = new TreeSet<>();
        JsonNode metadata = new ObjectMapper()
                .readTree(new ClassPathResource(
                                "META-INF/spring-configuration-metadata.json",
                                LeaseholdProperties.class.getClassLoader())
                        .getInputStream());
        for (JsonNode property : metadata.get("properties")) {
            assertThat(property.get("description").asText()).endsWith(".");
            described.add(property.get("name").asText());
        }
        Set<String> there = new TreeSet<>(Set.of(
                "leasehold.advisor-order",
                "management.endpoint.leasehold.access",
                "management.health.leasehold.enabled"));
        collect("leasehold", LeaseholdProperties.class, there);
        assertThat(described).isEqualTo(there);
    }

    private static void collect(String prefix, Class<?> type, Set<String> names) {
        for (RecordComponent one : type.getRecordComponents()) {
            String name =
                    prefix + "." + one.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            if (one.getType() == Map.class) {
                // An editor finds the properties below a name of the user by the type of the values.
                names.add(name);
            } else if (one.getType().isRecord()) {
                collect(name, one.getType(), names);
            } else {
                names.add(name);
            }
        }
    }
}
