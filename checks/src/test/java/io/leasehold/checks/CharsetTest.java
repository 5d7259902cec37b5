package io.leasehold.checks;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Conversions between text and bytes name their charset. With the JVM's default charset, a name outside ASCII has other
 * bytes on another machine. Two clients could then hold one lock, or ask the wrong server of a Cluster.
 */
@Tag("full")
class CharsetTest {

    private static final List<String> BYTES = List.of("byte[]");
    private static final List<String> PART_OF_BYTES = List.of("byte[]", "int", "int");

    /** The methods that use the JVM's charset, by class, with the overloads that name no charset. */
    private static final Map<String, Map<String, Set<List<String>>>> FORBIDDEN = Map.of(
            "java.lang.String",
            Map.of("getBytes", Set.of(List.of()), "<init>", Set.of(BYTES, PART_OF_BYTES)),
            "java.io.InputStreamReader",
            Map.of("<init>", Set.of(List.of("java.io.InputStream"))),
            "java.io.OutputStreamWriter",
            Map.of("<init>", Set.of(List.of("java.io.OutputStream"))),
            "java.io.FileReader",
            Map.of("<init>", Set.of(List.of("java.lang.String"), List.of("java.io.File"))),
            "java.io.FileWriter",
            Map.of("<init>", Set.of(List.of("java.lang.String"), List.of("java.io.File"))),
            "java.util.Scanner",
            Map.of("<init>", Set.of(List.of("java.io.InputStream"), List.of("java.nio.file.Path"))),
            "java.io.ByteArrayOutputStream",
            Map.of("toString", Set.of(List.of())),
            "java.nio.charset.Charset",
            Map.of("defaultCharset", Set.of(List.of())),
            // A method of the driver that encodes a text with the JVM's charset.
            "io.lettuce.core.cluster.SlotHash",
            Map.of("getSlot", Set.of(List.of("java.lang.String"))));

    private final JavaClasses all = ProductionClasses.ofAll();

    @Test
    void textAndBytesMeetInANamedCharset() {
        noClasses()
                .that()
                // It checks which words the JVM can encode.
                .doNotHaveFullyQualifiedName("io.leasehold.cli.process.TypedWords")
                .should()
                .callCodeUnitWhere(new DescribedPredicate<JavaCall<?>>("what follows the charset of the JVM") {
                    @Override
                    public boolean test(JavaCall<?> call) {
                        return FORBIDDEN
                                .getOrDefault(call.getTargetOwner().getName(), Map.of())
                                .getOrDefault(call.getTarget().getName(), Set.of())
                                .contains(call.getTarget().getRawParameterTypes().stream()
                                        .map(CharsetTest::written)
                                        .toList());
                    }
                })
                .because("a name has the same bytes everywhere: give the charset, StandardCharsets.UTF_8 as a rule")
                .check(all);
    }

    private static String written(JavaClass type) {
        return type.getName().equals("[B") ? "byte[]" : type.getName();
    }
}
