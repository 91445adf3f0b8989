// What programs with Spring Cloud Vault and Spring Vault do, unchanged. Prints what it saw, one line each.
import java.util.Map;
import java.util.TreeMap;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.vault.core.VaultKeyValueOperationsSupport.KeyValueBackend;
import org.springframework.vault.core.VaultTemplate;

@EnableAutoConfiguration
class VaultSpring {
  public static void main(String[] args) {
    try (var context = SpringApplication.run(VaultSpring.class, args)) {
      var environment = context.getEnvironment();
      System.out.println("seen " + environment.getProperty("user") + ":" + environment.getProperty("password"));
      var kv = context.getBean(VaultTemplate.class).opsForKeyValue("production", KeyValueBackend.KV_2);
      kv.put("java/db", Map.of("user", "app", "password", "one"));
      System.out.println("seen " + new TreeMap<>(kv.get("java/db").getData()));
      System.out.println("seen " + kv.list("java"));
      kv.delete("java/db");
      System.out.println("seen " + kv.get("java/db"));
    }
  }
}
